//go:build jvsfs_hosts

package hosts

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// shared is the store of CephFS that quick stories have in common: to start one takes longer than most of them. Each has a directory of
// it, hosts and clients of its own. A story that tells the servers something, or kills one, has a store of its own.
var shared struct {
	sync.Mutex
	store *cluster
	life  *life
	users int // stories that have it; the last one ends it
	roots int // directories that were given away
}

// rootsAtOnce are made before anybody uses the store: a new name in its uppermost directory waits for clients that are frozen.
const rootsAtOnce = 32

// shareCluster is newCluster for a story that leaves the servers alone. What is not CephFS starts in a moment, and is not shared.
func shareCluster(t *testing.T) *cluster {
	t.Helper()
	if _, is := engineOfRun(t).(ceph); !is {
		return newCluster(t)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.users == 0 {
		startShared(t)
	}
	shared.users++
	t.Cleanup(leaveShared)
	shared.roots++
	require.LessOrEqual(t, shared.roots, rootsAtOnce, "make more at once")
	of := shared.store
	return &cluster{t: t, bin: of.bin, engine: of.engine, store: &host{of.store.For(t)}, net: of.net.For(t), root: rootName(shared.roots)}
}

func rootName(n int) string { return fmt.Sprintf("story-%d", n) }

// startShared starts the store. Should that fail, it ends at once.
func startShared(t *testing.T) {
	t.Helper()
	begun := &life{TB: t}
	defer func() {
		if shared.life != begun {
			begun.end()
		}
	}()
	c := newCluster(begun)
	command := []string{"mkdir"}
	for n := range rootsAtOnce {
		command = append(command, filepath.Join(c.engine.sees(c), rootName(n+1)))
	}
	c.store.Must(command...)
	shared.store, shared.life, shared.roots = c, begun, 0
}

// leaveShared ends the store behind the last story that has it.
func leaveShared() {
	shared.Lock()
	defer shared.Unlock()
	if shared.users--; shared.users == 0 {
		shared.life.end()
	}
}

// life is a test whose end is not the end of what it starts.
type life struct {
	testing.TB
	ends []func()
}

func (l *life) Cleanup(f func()) { l.ends = append(l.ends, f) }

func (l *life) end() {
	for n := len(l.ends) - 1; n >= 0; n-- {
		l.ends[n]()
	}
}
