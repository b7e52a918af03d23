package fusefs

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
)

// Two directories that were moved behind the mount may each have been seen in the other. The way up
// ends all the same, and nobody writes there.
func TestDirectoriesSeenInEachOtherAreSealed(t *testing.T) {
	a, b, f := &node{kind: unix.S_IFDIR}, &node{kind: unix.S_IFDIR}, &node{kind: unix.S_IFREG}
	a.addParent(b, true)
	b.addParent(a, true)
	f.addParent(a, false)
	f.addParent(b, false)
	for _, n := range []*node{a, b, f} {
		require.Equal(t, []*layout.Rule{layout.Sealed}, n.rules(nil))
		require.Equal(t, []*layout.Rule{layout.Sealed}, new(rawFS).entryRules(nil, n, "name"))
	}
	a.own.Store(layout.Open) // seen where it is
	require.Equal(t, []*layout.Rule{layout.Open}, f.rules(nil))
}

// If other mounts could not notice, no root is renamed, and the log says so once.
func TestAStoreThatHidesRenamesIsLoggedOnce(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	f := &rawFS{opts: Options{Log: zap.New(core), Source: "/repo"}, serving: serving{fd: -1, old: -1, blind: true}}
	for range 3 {
		require.False(t, f.announceMove())
	}
	require.Equal(t, 1, logs.Len())
	require.Contains(t, logs.All()[0].Message, "EBUSY")
}
