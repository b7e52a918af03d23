package main

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// remoteHolding is a lease that the daemon of a mount keeps. The connection stays
// open while CMD runs; the daemon writes a line on it when the lease is lost.
type remoteHolding struct {
	t      client.Target
	c      *child
	req    api.Acquire
	lease  heldLease // once it is held
	joined bool      // it is that of the holder which this process belongs to
	note   func(string)
	reason chan string

	watch sync.WaitGroup
	ours  bool            // the lease, to be released
	over  context.Context // ends with release
	end   context.CancelFunc

	mu     sync.Mutex
	client *client.Client
}

func (e *execCommand) remote(t client.Target, c *child) holding {
	over, end := context.WithCancel(context.Background())
	return &remoteHolding{
		t: t, c: c, note: e.show.note, reason: make(chan string, 1), over: over, end: end,
		req: api.Acquire{Steal: e.steal, Watch: true, Taking: api.Taking{
			Where: api.Where{Path: t.Rel}, Process: c.bound.Process, Scope: e.scope, Purpose: e.purpose, WaitMS: e.wait.Milliseconds(),
		}},
	}
}

// holding names the lease to its daemon.
func (h *remoteHolding) holding() api.Holding {
	of := api.Holding{Where: api.Where{Path: h.t.Rel}, Token: h.lease.token}
	if !h.joined {
		of.Process = h.c.bound.Process
	}
	return of
}

func (h *remoteHolding) held() heldLease { return h.lease }

func (h *remoteHolding) lost() <-chan string { return h.reason }

// acquire asks and waits. The connection outlives ctx, which bounds the waiting
// only.
func (h *remoteHolding) acquire(ctx context.Context) error {
	if err := client.Ping(ctx, h.t.Mount); err != nil {
		return err
	}
	if inside, err := h.join(ctx); inside || err != nil {
		return err
	}
	c, err := client.Dial(context.WithoutCancel(ctx), h.t.Mount)
	if err != nil {
		return err
	}
	h.use(c)
	stop := context.AfterFunc(ctx, c.Interrupt)
	defer stop()
	if err := c.Send(h.req, h.c.bound.fd); err != nil {
		return c.Silence(err)
	}
	timeout := api.AnswerTimeout
	if h.req.Patient() {
		timeout = 0
	}
	resp, err := c.Result(timeout, h.note)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	h.ours = true
	h.lease.token = resp.Token
	return h.keep(c, resp)
}

// keep follows what the daemon says of the lease on c, whose answer has come.
func (h *remoteHolding) keep(c *client.Client, resp api.Response) (err error) {
	if h.lease, err = leaseTold(resp, h.t); err != nil {
		return err
	}
	h.lease.joined = h.joined
	patience := leftAfterHangup(resp.Record)
	// One of its own: the child's is closed before the lease is given back.
	pidfd, err := host.Duplicate(h.c.bound.fd)
	if err != nil {
		return err
	}
	h.watch.Go(func() {
		defer host.CloseFile(pidfd)
		h.follow(c, pidfd, patience)
	})
	return nil
}

// use makes c the connection that release closes.
func (h *remoteHolding) use(c *client.Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client = c; h.over.Err() != nil {
		c.Close()
	}
}

// follow waits for the line that reports the loss. A daemon that has ended cannot renew. So its end is a loss,
// too, unless the mount is recovered in time.
func (h *remoteHolding) follow(c *client.Client, pidfd *os.File, patience time.Duration) {
	for {
		resp, err := c.Next(0)
		if err == nil {
			if h.joined && resp.Reason == lease.LossHolderGone.Name() {
				resp.Reason = "its holder has ended" // and is not CMD
			}
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
	c.Close()
	h.watch.Wait()
	if !h.ours {
		return nil
	}
	req := api.Release{Holding: h.holding()}
	_, err := client.Ask(context.Background(), h.t.Mount, req, nil, nil)
	return err
}
