package daemon

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// runs takes a mount away that was made for runs (jvsfs run), when the last of them has ended. The daemon alone
// decides: the last run asks it to look (answerLeave), and it looks by itself for runs that were killed.
type runs struct {
	forRuns    bool // the mount was made for runs, and goes with the last of them
	mountpoint string
	log        *zap.Logger
	leases     interface {
		ShutOut() (letIn func(), ok bool) // nobody gets a lease until letIn; false if somebody waits for one
		HeldOnPurpose() string
	}
	ended   <-chan struct{} // closed when the mount has
	unmount func() error

	trying sync.Mutex
	alone  *host.RunLock // taken for good: the mount is gone, and no run may come before the daemon is, too
}

const (
	// runsPause is between two looks for runs that were killed.
	runsPause = time.Second
	// runsBusyPause is that while others use the mount: to find them costs a walk through /proc.
	runsBusyPause = 10 * time.Second
)

// ForRuns makes the daemon leave when no run uses its mount any more.
func (d *Daemon) ForRuns() { d.runs.forRuns = true }

// watch looks until serving ends.
func (r *runs) watch(serving context.Context) {
	if !r.forRuns {
		return
	}
	pause, before := runsPause, ""
	for {
		select {
		case <-serving.Done():
			return
		case <-r.ended:
			return
		case <-time.After(pause):
		}
		left, err := r.leave()
		pause = runsPause
		if f := api.AsFailure(err); f != nil {
			pause = runsBusyPause
			left.Stays = f.Message
			if left.Stays != before {
				r.log.Info("no run is left, and the mount stays", zap.Error(err), zap.Any("processes", f.Busy))
			}
		}
		before = left.Stays
	}
}

// answerLeave is leave for the run that may have been the last one.
func (r *runs) answerLeave() (api.Response, error) {
	if !r.forRuns {
		return api.ResultOf(api.Left{Stays: "it was there before", Kept: true})
	}
	left, err := r.leave()
	if err != nil {
		return api.Response{}, err
	}
	return api.ResultOf(left)
}

// leave unmounts, unless a run uses the mount, somebody holds a lease on purpose, or it is busy. It keeps new
// runs out meanwhile, and after an unmount until the daemon has ended.
func (r *runs) leave() (left api.Left, err error) {
	r.trying.Lock()
	defer r.trying.Unlock()
	if r.alone != nil {
		return api.Left{}, nil
	}
	lock, err := host.OpenRunLock(host.RunDir(), r.mountpoint)
	if err != nil {
		return api.Left{}, err
	}
	defer func() {
		if r.alone != lock {
			lock.Close()
		}
	}()
	if alone, err := lock.Alone(host.RunUses); err != nil || !alone || !lock.Current() {
		return api.Left{Stays: "another run uses it", Runs: true}, err
	}
	letIn, ok := r.leases.ShutOut() // from here on nobody gets a lease that would end at once
	if !ok {
		return api.Left{Stays: "somebody waits for a lease"}, nil
	}
	defer letIn()
	if who := r.leases.HeldOnPurpose(); who != "" {
		return api.Left{Stays: who}, nil
	}
	if err := r.unmount(); err != nil {
		return api.Left{}, err
	}
	r.log.Info("the last run has ended: unmounted")
	r.alone = lock
	return api.Left{}, nil
}

// close lets the next run in. r may be nil.
func (r *runs) close() error {
	if r == nil {
		return nil
	}
	r.trying.Lock()
	defer r.trying.Unlock()
	if r.alone == nil {
		return nil
	}
	err := r.alone.Remove()
	r.alone.Close()
	r.alone = nil
	return err
}
