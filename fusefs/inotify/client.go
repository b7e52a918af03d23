package inotify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Client has one instance of inotify.
type Client struct {
	file   *os.File
	ready  *edgePoll // of file
	buf    []byte    // of the reader
	behind waiting
	hurry  chan struct{} // somebody waits for the events so far
	ended  chan struct{} // closed with file
	end    sync.Once
}

// Event is one of a watched inode.
type Event struct {
	Watch int32 // -1: of none
	Mask  uint32
	Name  string // in a directory; empty: it is the inode's own
}

// New makes an instance without a watch.
func New() (*Client, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	c := &Client{file: os.NewFile(uintptr(fd), "inotify"), buf: make([]byte, 64<<10), hurry: make(chan struct{}, 1), ended: make(chan struct{})}
	// It is not for Go's poller, because it may block until here.
	if c.ready, err = newEdgePoll(fd); err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = c.file.Close()
		return nil, err
	}
	return c, nil
}

// Add watches the inode at a path, or changes the mask of its watch: an inode has one.
func (c *Client) Add(path string, mask uint32) (watch int32, err error) {
	wd, err := c.control(func(fd int) (int, error) { return unix.InotifyAddWatch(fd, path, mask) })
	return int32(wd), err
}

// Remove ends a watch, if it is not over.
func (c *Client) Remove(watch int32) {
	_, _ = c.control(func(fd int) (int, error) { return unix.InotifyRmWatch(fd, uint32(watch)) })
}

// Close ends all watches, and Next.
func (c *Client) Close() {
	c.end.Do(func() {
		close(c.ended)
		c.ready.close()
		_ = c.file.Close()
	})
}

// control runs a call on the descriptor, which Close may close meanwhile.
func (c *Client) control(call func(fd int) (int, error)) (n int, err error) {
	conn, err := c.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := conn.Control(func(fd uintptr) { n, err = call(int(fd)) }); cerr != nil {
		return 0, cerr
	}
	return n, err
}

// Next waits for events and tells those that there are. It reports whether all were calm, which tell says of each.
// After Close the error is os.ErrClosed.
func (c *Client) Next(tell func(Event) (calm bool)) (calm bool, err error) {
	err = c.ready.wait()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.catchUp(tell)
		return false, nil
	}
	n := 0
	if err == nil {
		n, err = c.some()
	}
	if err != nil {
		return false, err
	}
	return each(c.buf[:n], tell), nil
}

// some reads events, as many as there are and fit. It does not wait.
func (c *Client) some() (int, error) {
	n, err := c.control(func(fd int) (int, error) { return retryInt(func() (int, error) { return unix.Read(fd, c.buf) }) })
	if errors.Is(err, unix.EAGAIN) {
		return 0, nil // a caller that was waiting took them
	}
	return n, err
}

// each tells the events of one read. Layout: wd 4, mask 4, cookie 4, len 4, name.
func each(read []byte, tell func(Event) (calm bool)) (calm bool) {
	calm = true
	for rest := read; len(rest) >= unix.SizeofInotifyEvent; {
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
		if size > len(rest) {
			break
		}
		name, _, _ := bytes.Cut(rest[unix.SizeofInotifyEvent:size], []byte{0})
		if !tell(Event{int32(binary.NativeEndian.Uint32(rest)), binary.NativeEndian.Uint32(rest[4:]), string(name)}) {
			calm = false
		}
		rest = rest[size:]
	}
	return calm
}

// Gather waits for events to come together, unless somebody waits for them (CaughtUp). It reports whether there is more to read.
func (c *Client) Gather(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.hurry:
	case <-c.ended:
		return false
	}
	return true
}

// retryInt repeats a call that a signal interrupted.
func retryInt(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
