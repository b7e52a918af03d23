package api

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatABuildSaysOfItself(t *testing.T) {
	b := readBuild(&debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "true"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
	}}, "1.4")
	require.Equal(t, []any{"1.4", "0123456789abcdef0123", true, "2026-01-02T03:04:05Z", ProtocolVersion},
		[]any{b.Version, b.Commit, b.Modified, b.Time, b.Protocol})
	require.NotEmpty(t, b.Go)
	require.Equal(t, "1.4", readBuild(nil, "1.4").Version, "built without the go command's knowledge")
	require.NotEmpty(t, BuildOf().Version)
}
