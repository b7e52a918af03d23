package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionOfABuild(t *testing.T) {
	built := func(main string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: main}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	changed := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, c := range []struct {
		info          *debug.BuildInfo
		release, want string
	}{
		{nil, "", "unknown"}, {built("(devel)"), "", "unknown"},
		{built("(devel)", commit), "", "0123456789ab"}, {built("", commit, changed), "", "0123456789ab+modified"},
		{built("v1.2.3", commit), "", "v1.2.3"}, {built("v1.2.3", commit), "1.4", "1.4"},
	} {
		b := readBuild(c.info, c.release)
		require.Equal(t, c.want, b.Version)
		require.Equal(t, protocolVersion, b.Protocol)
		require.NotEmpty(t, b.Go)
	}
	require.Equal(t, commit.Value, readBuild(built("", commit), "").Commit)
}
