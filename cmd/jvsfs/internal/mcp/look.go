package mcp

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/lease"
)

// find is the mount that a path is on. The leases of a path on no mount would fence nothing.
func find(ctx context.Context, path string) (client.Target, error) {
	t, err := lookUp(ctx, path)
	if err == nil && t.Mount == nil {
		err = &api.Failure{Class: api.ClassNoMount, Message: t.Path + " is on no jvsfs mount: nothing fences writes there, so there is no lease to take",
			Next: "write there as usual; or let it be guarded: jvsfs mount DIRECTORY"}
	}
	return t, err
}

// lookUp is find, but a path may be on no mount.
func lookUp(ctx context.Context, path string) (client.Target, error) {
	if path == "" {
		return client.Target{}, mistake("path is empty")
	}
	t, err := client.Find(ctx, path, "")
	if t.Path != "" {
		err = nil // it has no records, which only matter without a mount
	}
	return t, err
}

func (s *server) explain(ctx context.Context, _ call, in pathArgs) (answer, error) {
	t, err := lookUp(ctx, in.Path)
	if err != nil {
		return answer{}, err
	}
	if t.Mount == nil {
		x := api.Explanation{}
		x.Path, x.Allowed, x.Sentence = t.Path, true, "the path is on no jvsfs mount: nothing fences writes there"
		return explained(x), nil
	}
	x, err := client.Explain(ctx, t, s.agent())
	return explained(x), err
}

func explained(x api.Explanation) answer {
	verdict := "your write would pass"
	if x.NotPermitted != "" {
		verdict = "jvsfs would not refuse your write, but the file system would"
	}
	if !x.Allowed {
		verdict = fmt.Sprintf("your write would be refused with %s (%s)", x.Errno, x.Class)
	}
	text := fmt.Sprintf("%s: %s\n%s", human.Printable(x.Path), verdict, human.Printable(x.Sentence))
	if x.NotPermitted != "" {
		text += "\nThe process lacks permission for " + human.Printable(filepath.Join(x.Mountpoint, x.NotPermitted)) + ", whoever holds the lease"
	}
	if x.Next != "" {
		text += "\nnext: " + human.Printable(x.Next)
	}
	return answer{text, x}
}

// The wait for a lease of somebody else has no limit of its own; these keep a call within a client's patience.
const (
	defaultWait  = 30 * time.Second
	longestWait  = 24 * time.Hour
	waitInterval = 500 * time.Millisecond // another mount or host does not tell when it releases
)

func seconds(wait float64) (time.Duration, error) {
	if wait < 0 || wait > longestWait.Seconds() {
		return 0, mistake(fmt.Sprintf("wait_seconds is %g; it may be from 0 to %g", wait, longestWait.Seconds()))
	}
	return time.Duration(wait * float64(time.Second)), nil
}

// secondsOr is seconds of what may have been left out.
func secondsOr(wait *float64, otherwise time.Duration) (time.Duration, error) {
	if wait == nil {
		return otherwise, nil
	}
	return seconds(*wait)
}

func (s *server) wait(ctx context.Context, c call, in waitArgs) (answer, error) {
	limit, err := secondsOr(in.Wait, defaultWait)
	if err != nil {
		return answer{}, err
	}
	t, err := find(ctx, in.Path)
	if err != nil {
		return answer{}, err
	}
	defer c.waiting(ctx, "waiting for "+t.Path)()
	over := time.NewTimer(limit)
	defer over.Stop()
	again := time.NewTicker(waitInterval)
	defer again.Stop()
	for {
		x, err := client.Explain(ctx, t, s.agent())
		if err != nil || !curedByWaiting(x) {
			return explained(x), err
		}
		select {
		case <-ctx.Done():
			return answer{}, ctx.Err()
		case <-over.C:
			return explained(x), nil
		case <-s.over.Done():
			return explained(x), nil
		case <-again.C:
		}
	}
}

// curedByWaiting reports whether the end of somebody's lease may make the write pass. A lease that is free
// is to be acquired, if writing alone does not take it.
func curedByWaiting(x api.Explanation) bool {
	return !x.Allowed && (x.Class == lease.ClassLockConflict || x.Class == lease.ClassLockExpired) && x.Status.State != api.StateFree
}

// lockStatus is the lease of a target, with whether the agent belongs to its holder.
func (s *server) lockStatus(ctx context.Context, t client.Target) (st api.LockStatus, mine bool, err error) {
	req := api.LookAtLock{Where: api.Where{Path: t.Rel}, Process: api.Process{PID: s.cfg.Agent, Explicit: true}}
	st, err = client.AskFor[api.LockStatus](ctx, t.Mount, req, s.cfg.Pinned)
	return st, err == nil && st.State == api.StateHeld && st.Member != nil && *st.Member, err
}

// worktreeText names a worktree and a place in it.
func worktreeText(id lease.WorktreeID, t client.Target) string {
	return strings.TrimSpace(fmt.Sprintf("%s (%s)", human.Printable(string(id)), human.Printable(t.Path)))
}
