package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/lease"
)

// rejoinPause is how long exec waits between two looks for a recovered mount.
const rejoinPause = 20 * time.Millisecond

// replacedWithin is how long exec waits before it says that the daemon is gone. Where it was replaced, the next
// one serves already.
const replacedWithin = 500 * time.Millisecond

// leftAfterHangup is the longest time that a lease can be good for after its daemon was
// killed: from a renewal at that very moment to the deadline (rule 8 of package lease). The
// fence judges by the real deadline; waiting for longer only delays the end of a command
// that can no longer write.
func leftAfterHangup(record json.RawMessage) time.Duration {
	var r struct {
		Lease int64 `json:"lease_duration_ms"`
		Renew int64 `json:"renew_interval_ms"`
	}
	if json.Unmarshal(record, &r) != nil {
		return 0
	}
	return time.Duration(r.Lease-r.Renew) * time.Millisecond
}

// rejoin waits until a mount at the same place serves and its daemon holds the same lease. It watches the lease
// there.
func (h *remoteHolding) rejoin(pidfd *os.File, patience time.Duration) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(h.over, patience)
	defer cancel()
	over, told := time.Now().Add(patience), false
	for start := time.Now(); ; {
		c, err := h.watchAgain(ctx, pidfd)
		if err == nil {
			if told {
				h.note("the mount was recovered, and the lease continues")
			} else {
				h.note("the daemon of the mount was replaced, and the lease continues")
			}
			return c, nil
		}
		if !told && time.Since(start) > replacedWithin {
			told = true
			h.note(fmt.Sprintf("the daemon of the mount is gone; the command continues if the mount is recovered before %s", human.Clock(over)))
		}
		if f := api.AsFailure(err); f.Class == lease.ClassLockNotHeld {
			return nil, fmt.Errorf("the mount was recovered without it: %s", f.Message)
		}
		select {
		case <-ctx.Done():
			return nil, lookup.ErrDaemonGone
		case <-time.After(rejoinPause):
		}
	}
}

// watchAgain asks the daemon that now serves the place. The connection outlives ctx.
func (h *remoteHolding) watchAgain(ctx context.Context, pidfd *os.File) (*client.Client, error) {
	m, err := lookup.JVSFSAt(h.t.Mount.Mountpoint)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx, m); err != nil {
		return nil, err
	}
	c, _, err := h.watchAt(ctx, m, pidfd)
	if err != nil {
		return nil, err
	}
	h.t.Mount = m
	return c, nil
}

// watchAt asks the daemon of a mount to tell of the loss of the lease.
func (h *remoteHolding) watchAt(ctx context.Context, m *mountinfo.Info, pidfd *os.File) (*client.Client, api.Response, error) {
	c, err := client.Dial(context.WithoutCancel(ctx), m)
	if err != nil {
		return nil, api.Response{}, err
	}
	req := api.Watch{Holding: h.holding()}
	var resp api.Response
	if err = c.Send(req, pidfd); err == nil {
		resp, err = c.Result(api.AnswerTimeout, h.note)
	}
	if err != nil {
		c.Close()
	}
	return c, resp, err
}
