package fusefs

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// After a switch of the mode every page that somebody could have stored into is dropped, so that it
// is judged by the new mode now. Long timeouts are taken back. Before a switch only what can be
// mapped has to be written back.
func TestASwitchDropsWhatTheKernelHas(t *testing.T) {
	source := t.TempDir()
	root, err := unix.Open(source, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	f, err := newRawFS(Options{Source: source, Enforcement: gate.NewEnforcement(gate.Enforcing)}, root)
	require.NoError(t, err)
	open := func(id uint64, write, mapped bool) {
		fd, err := unix.Open(filepath.Join(source, "f"), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		require.NoError(t, err)
		f.handles.add(&handle{node: &node{id: id}, quota: new(userQuota), fd: fd, write: write, mapped: mapped})
	}
	open(11, true, true)
	open(12, true, false)
	open(13, false, false)

	var dropped []uint64
	stop := make(chan struct{})
	var run sync.WaitGroup
	run.Go(func() { f.inval.run(func(id uint64) { dropped = append(dropped, id) }, stop) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, f.beforeSwitch(ctx))
	require.Equal(t, []uint64{11}, dropped)
	before := f.losses.Load()
	require.NoError(t, f.afterSwitch(ctx))
	require.ElementsMatch(t, []uint64{11, 11, 12}, dropped)
	require.Equal(t, before+1, f.losses.Load())
	require.Len(t, f.expiry.wake, 1)
	close(stop)
	run.Wait()

	// Nobody waits for a kernel that does not answer.
	over, end := context.WithCancel(t.Context())
	end()
	f.inval = newInvalidator()
	require.ErrorIs(t, f.beforeSwitch(over), context.Canceled)
	require.NoError(t, f.close())
	require.NoError(t, os.Remove(filepath.Join(source, "f")))
}
