package main

import (
	"path/filepath"
	"testing"

	"github.com/jvsfs/jvsfs/mountcfg"
	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
)

func TestMountRefusesWhatIsMounted(t *testing.T) {
	root := tree(t, "repo/main")
	table := mountTable{
		&mountinfo.Info{ID: 1, Mountpoint: "/"},
		&mountinfo.Info{ID: 2, Parent: 1, Mountpoint: filepath.Join(root, "repo"), FSType: fsType},
	}
	cfg := configOf(t, filepath.Join(root, "repo/main"))
	err := new(mountCommand).resolvePaths(t.Context(), &cfg, table)
	require.ErrorContains(t, err, "on the jvsfs mount")
	require.Equal(t, exitUsage, asFailure(err).exit())
}

func configOf(t *testing.T, source string) mountcfg.Config {
	t.Helper()
	cfg := mountcfg.Default()
	require.NoError(t, cfg.Set("source", source, mountcfg.WhereArgument))
	return cfg
}
