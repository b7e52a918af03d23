package main

import (
	"context"
	"os"
	"sync"
	"time"
)

// remoteHolding is a lease that the daemon of a mount keeps. The connection stays
// open while CMD runs; the daemon writes a line on it when the lease is lost.
type remoteHolding struct {
	t      target
	c      *child
	req    request
	note   func(string)
	reason chan string

	watch sync.WaitGroup
	held  bool
	over  context.Context // ends with release
	end   context.CancelFunc

	mu     sync.Mutex
	client *client
}

func (e *execCommand) remote(t target, c *child) holding {
	over, end := context.WithCancel(context.Background())
	return &remoteHolding{
		t: t, c: c, note: noteTo(e.io), reason: make(chan string, 1), over: over, end: end,
		req: request{
			Op: opAcquire, Path: t.rel, PID: c.pid, Start: c.start, Explicit: true, Scope: e.scope,
			Purpose: e.purpose, WaitMS: e.wait.Milliseconds(), Steal: e.steal, Watch: true,
		},
	}
}

func (h *remoteHolding) lost() <-chan string { return h.reason }

// acquire asks and waits. The connection outlives ctx, which bounds the waiting
// only.
func (h *remoteHolding) acquire(ctx context.Context) error {
	if err := ping(ctx, h.t.mount); err != nil {
		return err
	}
	c, err := dial(context.WithoutCancel(ctx), h.t.mount)
	if err != nil {
		return err
	}
	h.use(c)
	stop := context.AfterFunc(ctx, c.interrupt)
	defer stop()
	if err := c.send(h.req, h.c.pidfd); err != nil {
		return c.silence(err)
	}
	timeout := answerTimeout
	if h.req.patient() {
		timeout = 0
	}
	resp, err := c.result(timeout, h.note)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	h.held = true
	h.req.Token = resp.Token
	patience := leftAfterHangup(resp.Record)
	// One of its own: the child's is closed before the lease is given back.
	pidfd, err := duplicate(h.c.pidfd)
	if err != nil {
		return err
	}
	h.watch.Go(func() {
		defer closeFile(pidfd)
		h.follow(c, pidfd, patience)
	})
	return nil
}

// use makes c the connection that release closes.
func (h *remoteHolding) use(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client = c; h.over.Err() != nil {
		c.close()
	}
}

// follow waits for the line that tells of the loss. A daemon that is gone cannot renew,
// so its end is one too, unless the mount comes back in time.
func (h *remoteHolding) follow(c *client, pidfd *os.File, patience time.Duration) {
	for {
		resp, err := c.next(0)
		if err == nil {
			h.reason <- resp.Reason
			return
		}
		if h.over.Err() != nil {
			return // it was us who ended the connection
		}
		if c, err = h.rejoin(pidfd, patience); err != nil {
			h.reason <- err.Error()
			return
		}
		h.use(c)
	}
}

func (h *remoteHolding) release() error {
	h.end()
	h.mu.Lock()
	c := h.client
	h.mu.Unlock()
	if c == nil {
		return nil
	}
	c.close()
	h.watch.Wait()
	if !h.held {
		return nil
	}
	req := request{Op: opRelease, Path: h.t.rel, PID: h.c.pid, Start: h.c.start, Explicit: true, Token: h.req.Token}
	_, err := ask(context.Background(), h.t.mount, req, nil, nil)
	return err
}
