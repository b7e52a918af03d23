package client

import (
	"context"
	"sync"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// mountsLook is how often the mount table is read for new mounts.
const mountsLook = time.Second

// FollowAll follows every mount of the machine until ctx ends or tell fails, also those that come later. past says
// whether it tells what has happened before, too. ready is called when it does not miss anything from then on. tell
// is called for one event at a time. locks are as in Follower.
func FollowAll(ctx context.Context, past, locks bool, tell func(api.Event) error, ready func()) error {
	var run sync.WaitGroup
	defer run.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &allMounts{tell: tell, locks: locks, failed: make(chan error, 1), followed: map[string]bool{}}
	tick := time.NewTicker(mountsLook)
	defer tick.Stop()
	for first := true; ; first = false {
		mounts, err := host.ReadMounts()
		if err != nil {
			return err
		}
		a.followNew(ctx, mounts, first && !past, &run)
		if first {
			ready()
		}
		select {
		case <-tick.C:
		case err := <-a.failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

type allMounts struct {
	tell   func(api.Event) error
	locks  bool
	failed chan error // further ones say the same

	one      sync.Mutex // orders events
	mu       sync.Mutex
	followed map[string]bool // by mount point
}

// followNew follows the mounts that are not followed yet. skip leaves out their past.
func (a *allMounts) followNew(ctx context.Context, mounts host.MountTable, skip bool, run *sync.WaitGroup) {
	var begun sync.WaitGroup
	for _, m := range originals(mounts) {
		if !a.add(m.Mountpoint) {
			continue
		}
		begun.Add(1)
		run.Go(func() {
			f := &Follower{Mountpoint: m.Mountpoint, Tell: a.inTurn, Locks: a.locks}
			if skip {
				_ = f.FromNowOn(ctx, m) // Follow tells why it cannot be asked
			}
			begun.Done()
			if err := f.Follow(ctx); err != nil {
				select {
				case a.failed <- err:
				default:
				}
			}
			a.remove(m.Mountpoint)
		})
	}
	if skip {
		begun.Wait()
	}
}

func (a *allMounts) inTurn(e api.Event) error {
	a.one.Lock()
	defer a.one.Unlock()
	return a.tell(e)
}

func (a *allMounts) add(point string) (added bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	added = !a.followed[point]
	a.followed[point] = true
	return added
}

func (a *allMounts) remove(point string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.followed, point)
}

// originals are the jvsfs mounts without the copies that bind mounts make.
func originals(mounts host.MountTable) (all []*mountinfo.Info) {
	seen := map[api.Device]bool{}
	for _, m := range mounts.JVSFS() {
		if d := host.DeviceOf(m); !seen[d] {
			seen[d] = true
			all = append(all, m)
		}
	}
	return all
}
