package fusefs

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// slowKeeper gives no lease, and takes its time.
type slowKeeper struct {
	freeKeeper
	asking atomic.Int64
	answer chan struct{}
}

func (k *slowKeeper) Acquire(context.Context, lease.Holder) (lease.Grant, error) {
	k.asking.Add(1)
	defer k.asking.Add(-1)
	<-k.answer
	return lease.Grant{}, &lease.Error{Class: lease.ClassLockConflict, Message: "somebody else has it"}
}

// slowly mounts a tree of files 0, 1, ... whose lease takes its time.
func slowly(t *testing.T, files int) (*testMount, *slowKeeper) {
	t.Helper()
	k := &slowKeeper{answer: make(chan struct{})}
	clock := lease.SystemClock()
	resolver := gate.NewResolver(clock)
	t.Cleanup(resolver.Close)
	under := gate.NewEnforcement(gate.Enforcing)
	g := gate.NewGuard(gate.GuardConfig{Worktree: "tree", Mode: gate.Exclusive, OnFree: gate.AcquireOnFree,
		Clock: clock, Resolver: resolver, Enforcement: under})
	g.Bind(k)
	m := mounted(t, layout.Tree, func(s string) {
		for i := range files {
			require.NoError(t, os.WriteFile(filepath.Join(s, strconv.Itoa(i)), []byte("x"), 0o644))
		}
	}, func(o *Options) {
		o.Enforcement = under
		o.Guards = func(lease.WorktreeID) (*gate.Guard, error) { return g, nil }
	})
	return m, k
}

// However many wait for a lease, all of them wait, and readers do not.
func TestReadersDoNotWaitBehindWritersThatWaitForALease(t *testing.T) {
	const waiting = 300 // more than all readers of a mount once were
	m, k := slowly(t, waiting+50)
	refused := make(chan error, waiting)
	for i := range waiting {
		go func() { refused <- os.Chmod(m.at(strconv.Itoa(i)), 0o600) }()
	}
	require.Eventually(t, func() bool { return k.asking.Load() == waiting }, time.Minute, time.Millisecond)
	out, err := sh(t, m.dir, "for i in $(seq "+strconv.Itoa(waiting)+" "+strconv.Itoa(waiting+49)+"); do cat $i; done; ls | wc -l")
	require.NoError(t, err)
	require.Equal(t, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"+strconv.Itoa(waiting+50)+"\n", out)
	require.EqualValues(t, waiting, k.asking.Load())
	require.Empty(t, refused)
	close(k.answer)
	for range waiting {
		require.ErrorIs(t, <-refused, unix.EROFS)
	}
}
