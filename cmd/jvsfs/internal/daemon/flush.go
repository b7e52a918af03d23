package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/lease"
)

// flusher makes writes durable.
type flusher struct {
	root string // the source
	fs   interface {
		SourceFD() int
		Sync() error // what was acknowledged has reached the store
	}
	turn chan struct{}  // capacity 1: one flush of a handover at a time
	left sync.WaitGroup // flushes that a handover has not waited for
}

// all makes all writes durable: syncfs of the backing file system. FUSE tells a store's client nothing of a syncfs, so what may be there
// only is synced file by file.
func (d *flusher) all() error {
	if err := d.fs.Sync(); err != nil {
		return fmt.Errorf("flush %s: %w", d.root, err)
	}
	fd, err := unix.Openat(d.fs.SourceFD(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("flush %s: %w", d.root, err)
	}
	return errors.Join(unix.Syncfs(fd), unix.Close(fd))
}

// before makes the writes so far durable before the writers have to wait. So little is left to flush while
// they wait.
func (d *flusher) before(ctx context.Context) error {
	if err := d.within(ctx); err != nil {
		return &api.Failure{Class: lease.ClassLockConflict, Err: err,
			Message: fmt.Sprintf("the writes could not be made durable in time, so nothing has changed: %v", err),
			Next:    "look at the disk, then try again with a longer --wait"}
	}
	return nil
}

// within is all, but it gives up when ctx ends. A flush that hangs cannot be cancelled. The daemon waits
// for it at its end.
func (d *flusher) within(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("an earlier flush has not ended: %w", unix.ETIMEDOUT)
	}
	done := make(chan error, 1)
	d.left.Go(func() {
		err := d.all()
		<-d.turn
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("syncfs: %w", unix.ETIMEDOUT)
	}
}
