package host

import (
	"fmt"
	"os"
	"strconv"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
)

// heldMount is a mount, held by a descriptor of its root. It stays this mount, whatever is mounted at its place
// later.
type heldMount struct {
	info *mountinfo.Info
	Root *os.File // O_PATH
}

// HoldMount opens the root of the topmost mount at a place. It does not ask the file system, because its daemon
// may be dead or stopped.
func HoldMount(m *mountinfo.Info) (*heldMount, error) {
	fd, err := unix.Open(m.Mountpoint, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: m.Mountpoint, Err: err}
	}
	h := &heldMount{info: m, Root: os.NewFile(uintptr(fd), m.Mountpoint)}
	id, err := MountIDOf(fd)
	if err == nil && id != m.ID {
		err = fmt.Errorf("%s: the mounts there have just changed: try again", m.Mountpoint)
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// MountIDOf is the number of the mount that an open file is on (proc_pid_fdinfo(5)).
func MountIDOf(fd int) (int, error) {
	info, err := process.ReadDescriptor("thread-self", strconv.Itoa(fd))
	if err != nil {
		return 0, err
	}
	if value, ok := info.Field("mnt_id"); ok {
		return strconv.Atoi(value)
	}
	return 0, fmt.Errorf("descriptor %d: the kernel does not say on which mount it is", fd)
}

func (h *heldMount) FD() int { return int(h.Root.Fd()) }

func (h *heldMount) Close() { CloseFile(h.Root) }

// Detach unmounts this mount lazily, with all that is mounted on it. The link in /proc leads to the root of the
// mount itself, and not to a mount that covers it (path_resolution(7) does not cross mounts behind such a
// link).
func (h *heldMount) Detach() error {
	err := unix.Unmount(fmt.Sprintf("/proc/thread-self/fd/%d", h.FD()), unix.MNT_DETACH)
	if err != nil {
		return os.NewSyscallError("umount2", err)
	}
	return nil
}
