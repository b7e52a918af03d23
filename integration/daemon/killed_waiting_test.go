package daemon

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A daemon is killed while hundreds wait for a disk that does not answer, and more threads take requests than before. When
// the disk answers the daemon is gone at once, and so is everybody who waited: nothing of it waits for its own mount.
func TestAKilledDaemonEndsAlthoughHundredsWaitForTheDisk(t *testing.T) {
	m, disk := harness.PrepareFreezableOf(t, harness.MountOptions{OnFree: "allow"}, 64<<20)
	withDirs(t, m.Source, waitingWriters)
	m.Mount()
	fds := openEach(m)
	disk.Freeze()
	ended := make(chan struct{}, waitingWriters)
	for _, fd := range fds {
		go func() {
			_, _ = unix.Pwrite(fd, []byte("waits"), 0) // it may fail, but it must end
			_ = unix.Close(fd)
			ended <- struct{}{}
		}()
	}
	harness.Eventually(t, "requests are handled", func() bool { return m.InFlight() >= 100 })
	m.EndDaemonOnce(unix.SIGKILL, disk.Thaw)
	for range waitingWriters {
		<-ended
	}
}
