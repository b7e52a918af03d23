package metrics

import (
	"net"
	"sync"
)

// boundedListener accepts a bounded number of connections at a time; further callers wait in the kernel's queue.
type boundedListener struct {
	net.Listener
	slots chan struct{}
	over  chan struct{} // closed by Close
	once  sync.Once
}

// bounded takes l over.
func bounded(l net.Listener, most int) *boundedListener {
	return &boundedListener{Listener: l, slots: make(chan struct{}, most), over: make(chan struct{})}
}

// Accept waits for a free place and for a connection, or until Close.
func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.over:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &boundedConn{Conn: conn, free: func() { <-l.slots }}, nil
}

// Close ends a waiting Accept, too.
func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.over) })
	return l.Listener.Close()
}

// boundedConn gives its place back once, when it is closed.
type boundedConn struct {
	net.Conn
	once sync.Once
	free func()
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.free)
	return err
}
