package main

import (
	"context"
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

	client *client
	watch  sync.WaitGroup
	held   bool
}

func (e *execCommand) remote(t target, c *child) holding {
	return &remoteHolding{
		t: t, c: c, note: noteTo(e.io), reason: make(chan string, 1),
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
	h.client = c
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetReadDeadline(time.Unix(1, 0)) })
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
	h.watch.Go(h.follow)
	return nil
}

// follow waits for the line that tells of the loss. A daemon that is gone cannot
// renew, so its end is one too.
func (h *remoteHolding) follow() {
	resp, err := h.client.next(0)
	if err != nil {
		h.reason <- "the daemon of the mount is gone"
		return
	}
	h.reason <- resp.Reason
}

func (h *remoteHolding) release() error {
	if h.client == nil {
		return nil
	}
	h.client.close()
	h.watch.Wait()
	if !h.held {
		return nil
	}
	req := request{Op: opRelease, Path: h.t.rel, PID: h.c.pid, Start: h.c.start, Explicit: true, Token: h.req.Token}
	_, err := ask(context.Background(), h.t.mount, req, nil, nil)
	return err
}
