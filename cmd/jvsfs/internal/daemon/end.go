package daemon

import (
	"errors"
	"os"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// errCutOff leaves a dead mount behind, like a kill, with what it takes to bring it back.
var errCutOff = errors.New("the connection to the kernel was aborted: the mount is dead and refuses everything, until it is recovered")

// cutOff tells whether the mount is still to be seen although the kernel has ended the
// connection: umount -f on a busy mount does that, and fusectl's abort. That it is this
// mount, and no later one with its number, the state says. umount -f of one that is not
// busy takes the mount away a moment after the connection.
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

// cutOffAfter is longer than it takes the kernel from a connection's end to that of its mount.
const cutOffAfter = 500 * time.Millisecond

// copyPatience is how long what refers to an unmounted mount may take to go by itself.
const copyPatience = time.Second

// cutCopies ends what is left of the mount elsewhere: in other mount namespaces, as
// containers have it, or bound to other places. Unmounting does not reach those copies, and
// this daemon would have to serve them for as long as a container lives. From now on they
// refuse everything. abort is of this very connection, whoever has its number by now.
func (d *unmounting) cutCopies(abort *os.File) error {
	select {
	case <-d.ended:
		return nil
	case <-time.After(copyPatience):
	}
	if abort == nil {
		return nil
	}
	d.log.Warn("other mount namespaces or places have copies of the mount: they are dead now", zap.String("mountpoint", d.mountpoint()))
	_, err := abort.Write([]byte("1"))
	if errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ENODEV) { // the last one has just gone
		return nil
	}
	return err
}

// signalPatience is how long a mount that is busy when its daemon is told to end goes on
// serving: at the end of a machine, or of a service's dependents, who uses it is just being
// told the same. It is far from what a service manager waits for.
const signalPatience = 3 * time.Second

// unmountInTime is unmountPatiently for as long as that may take. Until it has given up
// nothing is closed: who uses the mount can finish what it does there.
func (d *unmounting) unmountInTime() error {
	busy := d.unmountPatiently()
	if busy == nil || api.AsFailure(busy).Class != api.ClassBusy {
		return busy
	}
	d.log.Warn("told to end while the mount is busy: it goes on serving for a moment", zap.Error(busy))
	for end := time.Now().Add(signalPatience); time.Now().Before(end); time.Sleep(busyPause) {
		if d.unmount() == nil {
			return nil
		}
	}
	return d.unmountPatiently()
}

// endBySignal unmounts, or, when the mount stays busy, closes the gates, releases
// and leaves a dead mount behind: everything there fails from now on, which is
// closed; a lazy unmount would bare the directory below.
func (d *unmounting) endBySignal() error {
	d.umount.Lock()
	defer d.umount.Unlock()
	busy := d.unmountInTime()
	if busy == nil {
		return errors.Join(d.registry.close(), d.forgetState())
	}
	d.log.Warn("unmount", zap.Error(busy), zap.Any("processes", api.AsFailure(busy).Busy))
	err := d.registry.close()
	d.log.Warn("ended while the mount was busy: the mount is dead now and refuses everything",
		zap.String("mountpoint", d.mountpoint()), zap.Error(err))
	d.service.tell(statusLine("%s was busy: the mount is dead now and refuses everything, until the next start recovers it", d.mountpoint()))
	return errors.Join(err, d.fs.Abort())
}
