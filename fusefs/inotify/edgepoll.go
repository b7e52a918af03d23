package inotify

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// edgePoll waits for a descriptor to have something to read. Between two waits nobody is woken for it. Go's own poller
// keeps an eye on a descriptor as long as it is open, and wakes a thread of the daemon for each event: a writer in a watched
// directory would pay for that with each name that it makes.
type edgePoll struct {
	epoll *os.File // EPOLLONESHOT of the descriptor; Go's poller sees only what that lets through
	fd    int
	ended atomic.Bool
}

func newEdgePoll(fd int) (*edgePoll, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLONESHOT}
	err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &event)
	if err == nil {
		err = unix.SetNonblock(epoll, true) // os.NewFile gives only such descriptors to Go's poller
	}
	if err != nil {
		_ = unix.Close(epoll)
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	return &edgePoll{epoll: os.NewFile(uintptr(epoll), "edgepoll"), fd: fd}, nil
}

// wait returns when there is something to read. The error is os.ErrDeadlineExceeded after interrupt and until resume,
// os.ErrClosed after close.
func (p *edgePoll) wait() error {
	err := p.await()
	if err != nil && p.ended.Load() {
		return os.ErrClosed // package os has an error of its own for a wait that is under way
	}
	return err
}

func (p *edgePoll) await() error {
	conn, err := p.epoll.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(epoll uintptr) { failed = p.arm(int(epoll)) }); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	err = conn.Read(func(epoll uintptr) bool {
		var events [1]unix.EpollEvent
		var n int
		n, failed = retryInt(func() (int, error) { return unix.EpollWait(int(epoll), events[:], 0) })
		return n > 0 || failed != nil
	})
	if err != nil {
		return err
	}
	return failed
}

func (p *edgePoll) arm(epoll int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(epoll, unix.EPOLL_CTL_MOD, p.fd, &event))
}

// interrupt ends wait, and each further one until resume.
func (p *edgePoll) interrupt() error { return p.epoll.SetReadDeadline(time.Now()) }

// resume undoes interrupt.
func (p *edgePoll) resume() { _ = p.epoll.SetReadDeadline(time.Time{}) } // fails if it is closed; the next wait says so

func (p *edgePoll) close() {
	p.ended.Store(true)
	_ = p.epoll.Close()
}
