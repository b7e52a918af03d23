package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

func TestOverlapsOfOlderReleases(t *testing.T) {
	mount := func(source, locks string, mark int64) *host.MountState {
		return &host.MountState{Mountpoint: "/mnt" + source, Source: source, Locks: locks, Mark: mark}
	}
	for name, c := range map[string]struct {
		a, b  *host.MountState
		twice bool
	}{
		"the same records":                {mount("/a", "/c", 0), mount("/a", "/c", 0), false},
		"two sets":                        {mount("/a", "/c", 0), mount("/a", "/d", 0), true},
		"two sets, one knows of locks":    {mount("/a", "/c", 7), mount("/a", "/d", 0), true},
		"both know of locks":              {mount("/a", "/c", 7), mount("/a", "/d", 8), false},
		"nothing in common":               {mount("/a", "/c", 0), mount("/ab", "/d", 0), false},
		"one below the other":             {mount("/a/b/c", "/c", 0), mount("/a", "/d", 0), true},
		"below, in one control directory": {mount("/a", "/c", 0), mount("/a/b", "/c", 0), true},
		"a repository and its main":       {mount("/r", "/r/.jvs/locks", 0), mount("/r/main", "/r/.jvs/locks", 0), false},
		"a worktree and its repository":   {mount("/r/worktrees/x", "/c", 0), mount("/r", "/c", 0), false},
		"deep in a worktree":              {mount("/r/worktrees/x/y", "/c", 0), mount("/r", "/c", 0), true},
	} {
		found := overlapFindings([]*host.MountState{c.a, c.b})
		require.Equal(t, c.twice, len(found) == 1, "%s: %+v", name, found)
	}
}
