package process

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// ExitWatch learns from the kernel when processes end. One serves a whole daemon. Safe for concurrent
// use.
type ExitWatch struct {
	set *os.File // epoll

	mu   sync.Mutex
	seq  int32            // of the latest watch. Descriptors cannot be keys: their numbers are reused
	wake map[int32]func() // key: number of the watch
}

// NewExitWatch makes an empty set. It tells nothing before Run.
func NewExitWatch() (*ExitWatch, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that waiting takes no thread
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &ExitWatch{set: os.NewFile(uintptr(fd), "epoll"), wake: make(map[int32]func())}, nil
}

// Run tells of ends until ctx is done. It closes the set.
func (e *ExitWatch) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = e.set.Close() })
	defer stop()
	conn, err := e.set.SyscallConn()
	if err != nil {
		return err
	}
	events := make([]unix.EpollEvent, 64)
	for {
		n := 0
		err := conn.Read(func(fd uintptr) bool {
			n, _ = unix.EpollWait(int(fd), events, 0)
			return n > 0
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, ev := range events[:n] {
			e.tell(ev.Fd)
		}
	}
}

func (e *ExitWatch) tell(id int32) {
	e.mu.Lock()
	wake := e.wake[id]
	delete(e.wake, id)
	e.mu.Unlock()
	if wake != nil {
		wake()
	}
}

// watch adds a pidfd. After an error nobody is woken: whoever looks at the process next sees its end.
func (e *ExitWatch) watch(pidfd int, wake func()) (id int32, err error) {
	e.mu.Lock()
	e.seq++
	id = e.seq
	e.wake[id] = wake
	e.mu.Unlock()
	if err := e.control(unix.EPOLL_CTL_ADD, pidfd, id); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.wake, id)
		return 0, err
	}
	return id, nil
}

// forget removes a pidfd that is about to be closed.
func (e *ExitWatch) forget(pidfd int, id int32) {
	_ = e.control(unix.EPOLL_CTL_DEL, pidfd, id) // the set is closed, or the kernel has dropped it already
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.wake, id)
}

func (e *ExitWatch) control(op, pidfd int, id int32) (err error) {
	conn, err := e.set.SyscallConn()
	if err != nil {
		return err
	}
	closed := conn.Control(func(fd uintptr) {
		err = unix.EpollCtl(int(fd), op, pidfd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: id})
	})
	return cmp.Or(closed, err)
}

// Close frees a set that Run was never called on.
func (e *ExitWatch) Close() error {
	if err := e.set.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
