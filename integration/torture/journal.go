package main

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// journal has the kernel tell every change of a name in the made directory on the backing store, and every mark of a grant, in
// one order: that of happening. It is what the log is for writes.
type journal struct {
	tree  *tree
	fd    int
	marks int32 // the watch of the marks
}

func (h *history) openJournal(t *tree) (*journal, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	j := &journal{tree: t, fd: fd}
	marks, err := unix.InotifyAddWatch(fd, h.marks(t.place), unix.IN_CREATE|unix.IN_ONLYDIR)
	if err == nil {
		_, err = unix.InotifyAddWatch(fd, h.backing(t.place, "made"),
			unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO|unix.IN_MODIFY|unix.IN_ONLYDIR)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	j.marks = int32(marks)
	return j, nil
}

// read reads until stop, and then the rest.
func (j *journal) read(stop *atomic.Bool) error {
	defer unix.Close(j.fd) //nolint:errcheck // only read from
	buf := make([]byte, 64<<10)
	for {
		done := stop.Load()
		n, err := unix.Read(j.fd, buf)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN && done:
			return nil
		case err == unix.EAGAIN:
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(j.fd), Events: unix.POLLIN}}, 20); err != nil && err != unix.EINTR {
				return err
			}
		case err != nil:
			return err
		default:
			if err := j.parse(buf[:n]); err != nil {
				return err
			}
		}
	}
}

// parse takes events apart: struct inotify_event is wd, mask, cookie, len, and a name padded with zeroes.
func (j *journal) parse(b []byte) error {
	for len(b) >= unix.SizeofInotifyEvent {
		watch, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
		if err := j.event(watch, mask, string(name)); err != nil {
			return err
		}
		b = b[end:]
	}
	return nil
}

func (j *journal) event(watch int32, mask uint32, name string) error {
	t := j.tree
	if mask&unix.IN_Q_OVERFLOW != 0 {
		t.Blind = true
		return nil
	}
	if watch == j.marks {
		r, err := plan.ParseName(name)
		t.Changes = append(t.Changes, change{Mark: r})
		return err
	}
	for bit, kind := range map[uint32]byte{unix.IN_CREATE: callCreate, unix.IN_DELETE: callUnlink, unix.IN_MOVED_FROM: callRename,
		unix.IN_MOVED_TO: callRename, unix.IN_MODIFY: callTruncate} {
		if mask&bit != 0 {
			t.Changes = append(t.Changes, change{Kind: kind, Name: name})
		}
	}
	return nil
}
