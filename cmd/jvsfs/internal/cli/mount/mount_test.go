package mount

import (
	"path/filepath"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/mountcfg"
)

func TestMountRefusesWhatIsMounted(t *testing.T) {
	root := testkit.Tree(t, "repo/main")
	table := host.MountTable{
		&mountinfo.Info{ID: 1, Mountpoint: "/"},
		&mountinfo.Info{ID: 2, Parent: 1, Mountpoint: filepath.Join(root, "repo"), FSType: host.FSType},
	}
	cfg := configOf(t, filepath.Join(root, "repo/main"))
	err := new(mountCommand).resolvePaths(t.Context(), &cfg, table)
	require.ErrorContains(t, err, "on the jvsfs mount")
	require.Equal(t, api.ExitUsage, api.AsFailure(err).Exit())
}

func configOf(t *testing.T, source string) mountcfg.Config {
	t.Helper()
	cfg := mountcfg.Default()
	require.NoError(t, cfg.Set("source", source, mountcfg.WhereArgument))
	return cfg
}
