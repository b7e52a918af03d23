package exec

import (
	"context"
	"os"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/child"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

func (e *Command) remote(t client.Target, c *child.Child) holding {
	over, end := context.WithCancel(context.Background())
	return &remoteHolding{
		t: t, c: c, note: e.show.Note, reason: make(chan string, 1), over: over, end: end,
		req: api.Acquire{Steal: e.steal, Watch: true, Taking: api.Taking{
			Where: api.Where{Path: t.Rel}, Process: c.Bound.Process, Scope: e.scope, Purpose: e.Purpose, WaitMS: e.Wait.Milliseconds(),
		}},
	}
}

// holding names the lease to its daemon.
func (h *remoteHolding) holding() api.Holding {
	of := api.Holding{Where: api.Where{Path: h.t.Rel}, Token: h.lease.Token}
	if !h.joined {
		of.Process = h.c.Bound.Process
	}
	return of
}

func (h *remoteHolding) held() HeldLease { return h.lease }

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
	if err := c.Send(h.req, h.c.Bound.FD); err != nil {
		return c.Silence(err)
	}
	timeout := api.AnswerTimeout
	if h.req.Patient() {
		timeout = 0
	}
	resp, err := c.Result(timeout, h.note)
	if !stop() { // interrupted, and so nothing more can be read from it
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	h.ours = true
	h.lease.Token = resp.Token
	return h.keep(c, resp)
}

// keep follows what the daemon says of the lease on c, whose answer has come.
func (h *remoteHolding) keep(c *client.Client, resp api.Response) (err error) {
	if h.lease, err = leaseTold(resp, h.t); err != nil {
		return err
	}
	h.lease.Joined = h.joined
	patience := leftAfterHangup(resp.Record)
	// One of its own: the child's is closed before the lease is given back.
	pidfd, err := host.Duplicate(h.c.Bound.FD)
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

// join watches the lease of the holder that this process belongs to, if there is one: it is
// neither taken nor given back for CMD.
func (h *remoteHolding) join(ctx context.Context) (bool, error) {
	self, err := process.OpenPidfd(os.Getpid())
	if err != nil {
		return false, err
	}
	defer host.CloseFile(self)
	resp, err := client.Ask(ctx, h.t.Mount, aboutUs(h.t.Rel), self, nil)
	if err != nil {
		return false, err
	}
	st, ok := within(resp)
	if !ok {
		return false, nil
	}
	h.joined, h.lease.Token = true, st.Token
	c, resp, err := h.watchAt(ctx, h.t.Mount, self)
	if f := api.AsFailure(err); f != nil && f.Class == lease.ClassLockNotHeld {
		h.joined = false // it ended meanwhile, or another mount has it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	h.use(c)
	if len(resp.Record) == 0 { // of a daemon of another release
		resp.Record = st.Record
	}
	return true, h.keep(c, resp)
}
