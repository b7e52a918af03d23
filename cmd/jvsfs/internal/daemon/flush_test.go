package daemon

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/lease"
)

// store is a file system that syncs when it is let.
type store struct {
	dir     *os.File
	syncing chan error
}

func (s store) SourceFD() int { return int(s.dir.Fd()) }
func (s store) Sync() error   { return <-s.syncing }

// A flush that hangs keeps no handover waiting for longer than it wants to, and there is one at a time. The daemon waits for it at its end.
func TestAFlushThatHangsIsLeftBehind(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	d := &flusher{root: "/s", fs: store{dir, make(chan error, 1)}, turn: make(chan struct{}, 1)}
	syncing := d.fs.(store).syncing
	syncing <- nil
	require.NoError(t, d.within(t.Context()))
	syncing <- unix.EIO
	err = d.before(t.Context())
	require.ErrorContains(t, err, "the writes could not be made durable in time, so nothing has changed: flush /s: input/output error")
	require.Equal(t, lease.ClassLockConflict, api.AsFailure(err).Class)

	ctx, hangUp := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() { gaveUp <- d.within(ctx) }()
	require.Eventually(t, func() bool { return len(d.turn) == 1 }, time.Minute, time.Millisecond)
	over, end := context.WithCancel(t.Context())
	end()
	require.ErrorContains(t, d.within(over), "an earlier flush has not ended")
	hangUp()
	require.ErrorIs(t, <-gaveUp, unix.ETIMEDOUT)
	syncing <- nil
	d.left.Wait()
	syncing <- nil
	require.NoError(t, d.within(t.Context()))
}
