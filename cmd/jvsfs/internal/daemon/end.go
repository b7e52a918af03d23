package daemon

import (
	"errors"
	"os"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/servicemanager"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// errCutOff leaves a dead mount, as a kill does, and the state that is needed to recover it.
var errCutOff = errors.New("the connection to the kernel was aborted: the mount is dead and refuses everything, until it is recovered")

// cutOff reports whether the mount is still visible although the kernel has ended the connection, as after
// umount -f of a busy mount or an abort by fusectl. The state file tells this mount from a later one with the
// same number. After umount -f of a mount that is not busy, the mount vanishes a moment after the connection.
func (d *unmounting) cutOff() bool {
	for end := time.Now().Add(cutOffAfter); ; time.Sleep(cutOffAfter / 20) {
		mounts, err := host.ReadMounts()
		if err != nil || !mounts.Has(d.device()) {
			return false
		}
		if st, err := host.ReadMountState(d.device()); err != nil || st.Daemon.PID != os.Getpid() {
			return false
		}
		if time.Now().After(end) {
			return true
		}
	}
}

// cutOffAfter is longer than the kernel takes from the end of a connection to the end of its mount.
const cutOffAfter = 500 * time.Millisecond

// copyPatience is how long references to an unmounted mount may take to go by themselves.
const copyPatience = time.Second

// cutCopies ends the copies of the mount: in other mount namespaces (containers), and bind mounts. Unmounting
// does not reach them, and this daemon would have to serve them as long as a container lives. From now on they
// refuse everything. abort belongs to this connection, even if another mount has its number by now.
func (d *unmounting) cutCopies(abort *os.File) error {
	select {
	case <-d.ended:
		return nil
	case <-time.After(copyPatience):
	}
	if abort == nil {
		d.fs.Abandon()
		return nil
	}
	d.log.Warn("other mount namespaces or places have copies of the mount: they are dead now", zap.String("mountpoint", d.mountpoint))
	_, err := abort.Write([]byte("1"))
	if errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ENODEV) { // the last one has just gone
		return nil
	}
	return err
}

// signalPatience is how long the daemon continues to serve a busy mount after a signal to end. At a shutdown,
// or when a service stops with its dependents, the users of the mount get their signal at the same time. It is
// far less than a service manager waits.
const signalPatience = 3 * time.Second

// unmountInTime is unmountPatiently with a time limit. Until it gives up, nothing is closed, so the users of
// the mount can finish.
func (d *unmounting) unmountInTime() error {
	busy := d.unmountPatiently()
	if busy == nil || api.AsFailure(busy).Class != api.ClassBusy {
		return busy
	}
	d.log.Warn("told to end while the mount is busy: it serves for another moment", zap.Error(busy))
	for end := time.Now().Add(signalPatience); time.Now().Before(end); time.Sleep(busyPause) {
		if d.unmount() == nil {
			return nil
		}
	}
	return d.unmountPatiently()
}

// endBySignal unmounts. If the mount stays busy, it closes the gates, releases the leases and leaves a dead
// mount, in which everything fails. A lazy unmount would leave the directory below with no fence.
func (d *unmounting) endBySignal() error {
	d.umount.Lock()
	defer d.umount.Unlock()
	busy := d.unmountInTime()
	if busy == nil {
		return errors.Join(d.leases.Close(), d.forget())
	}
	d.log.Warn("unmount", zap.Error(busy), zap.Any("processes", api.AsFailure(busy).Busy))
	err := d.leases.Close()
	d.log.Warn("ended while the mount was busy: the mount is dead now and refuses everything",
		zap.String("mountpoint", d.mountpoint), zap.Error(err))
	d.service.Tell(servicemanager.Status("%s was busy: the mount is dead now and refuses everything, until the next start recovers it", d.mountpoint))
	return errors.Join(err, d.fs.Abort())
}

// ErrStoreReturned says that the mount is dead because its store was mounted again.
var ErrStoreReturned = errors.New("the client of the store was started again, and the mount is dead until it is recovered")

// endForStore leaves a dead mount and the records as they are. For the next daemon the leases have run out. It returns nil, and does nothing,
// if the mount is away already.
func (d *unmounting) endForStore() error {
	d.umount.Lock()
	defer d.umount.Unlock()
	if mounts, err := host.ReadMounts(); err == nil && !mounts.Has(d.device()) {
		return nil
	}
	d.forNext = true
	d.log.Warn("the client of the store was started again at "+d.source+": this daemon ends, and leaves a dead mount to be recovered", zap.String("mountpoint", d.mountpoint))
	d.journal.Change(func(f *journal.File) { *f = f.Expired() })
	d.journal.End()
	d.leases.ShutLatches(true)
	d.leases.Part()
	return errors.Join(ErrStoreReturned, d.leases.Close(), d.fs.Abort())
}
