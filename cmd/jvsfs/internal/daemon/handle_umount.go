package daemon

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/servicemanager"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// unmounting unmounts, by a request or a signal.
type unmounting struct {
	mountpoint string
	source     string
	device     func() api.Device
	journal    *journal.Journal
	service    *servicemanager.Service
	log        *zap.Logger
	flush      func() error // makes all writes durable
	forget     func() error // removes the state for a recovery
	letGo      func()       // others may serve the tree; after the end
	flushTrail func()       // after it all refusals can be found
	fs         interface {
		Unmount() error
		Abort() error
		Abandon()   // where a user cannot abort
		LeaveTree() // others may rename roots; after Wait
	}
	leases interface {
		ShutLatches(shut bool)
		Part()
		Close() error
	}

	mountID atomic.Int64  // of the mount in mountinfo, 0 while it is not known
	ended   chan struct{} // closed when the kernel has dropped the mount everywhere
	umount  sync.Mutex    // one at a time
	forNext bool          // the mount was left dead, for the next daemon; under umount
}

// find notes the number of the mount that was made just now.
func (d *unmounting) find() {
	mounts, err := host.ReadMounts()
	if err != nil {
		return
	}
	for _, m := range mounts.JVSFS() {
		if host.DeviceOf(m) == d.device() && m.Mountpoint == d.mountpoint {
			d.mountID.Store(int64(m.ID)) // the first one, in case somebody has bound it to itself already
			return
		}
	}
}

// isCopy reports whether a client means another mount of this file system than the one that this daemon has
// made: a bind mount, perhaps at the same place. A mount in another mount namespace is known only by its place.
func (d *unmounting) isCopy(r api.Unmount) bool {
	if r.Mount == 0 {
		return false
	}
	mounts, err := host.ReadMounts()
	if own := d.mountID.Load(); err == nil && own != 0 && mounts.ByID(r.Mount) != nil {
		return int64(r.Mount) != own
	}
	return r.Mountpoint != d.mountpoint
}

// unmount unmounts our mount, unless something else was mounted over it since.
func (d *unmounting) unmount() error {
	mounts, err := host.ReadMounts()
	if err != nil {
		return err
	}
	top, own := mounts.At(d.mountpoint), d.mountID.Load()
	if top == nil || host.DeviceOf(top) != d.device() || own != 0 && int64(top.ID) != own {
		return fmt.Errorf("another mount covers it: %w", unix.EBUSY)
	}
	// After the unmount, another mount may have the device number, and with it the name.
	goOn := d.journal.Pause()
	err = d.fs.Unmount()
	if err != nil {
		goOn()
	}
	return err
}

// byRequest unmounts if nobody uses the mount. Then it flushes and releases. It returns when all of that is done.
func (d *unmounting) byRequest() error {
	d.umount.Lock()
	defer d.umount.Unlock()
	if d.forNext {
		return ErrStoreReturned
	}
	if err := d.unmountPatiently(); err != nil {
		return err
	}
	err := errors.Join(d.leases.Close(), d.flush())
	if err != nil {
		err = fmt.Errorf("the mount is away, but its end is not as it should be: %w", err)
	}
	d.leaveTree()
	d.flushTrail() // after the answer all of them can be found
	return err
}

// leaveTree lets others rename the roots of the tree, and serve it with other records, before
// the client goes on. A copy of the mount that is left elsewhere (cutCopies) keeps the tree
// until this process ends.
func (d *unmounting) leaveTree() {
	select {
	case <-d.ended:
		d.fs.LeaveTree()
		d.letGo()
	case <-time.After(copyPatience):
	}
}

// busyRetries and busyPause bound how long a mount may be busy without a visible user: a file was just closed,
// or a process is just ending.
const (
	busyRetries = 10
	busyPause   = 50 * time.Millisecond
)

// unmountPatiently retries while the mount has no visible user. If it has some, it names them at once.
func (d *unmounting) unmountPatiently() error {
	for try := 0; ; try++ {
		err := d.unmount()
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("unmount %s: %w", d.mountpoint, err)
		}
		who := host.WhoKeepsBusy(d.device(), os.Getpid())
		if len(who) > 0 || try == busyRetries {
			return api.BusyFailure(d.mountpoint, who)
		}
		time.Sleep(busyPause)
	}
}
