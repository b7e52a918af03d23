package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// leaseAnswer is what the tools say that change a lease; the names are a promise.
type leaseAnswer struct {
	Worktree lease.WorktreeID `json:"worktree_id"`
	Path     string           `json:"path"`
	Token    lease.Token      `json:"fencing_token"`
	Already  bool             `json:"already_held,omitempty"` // nothing was taken: the agent belongs to the holder
	Released bool             `json:"released,omitempty"`
	Holder   any              `json:"holder,omitempty"`
	From     any              `json:"from,omitempty"`
}

func (s *server) acquire(ctx context.Context, c call, in acquireArgs) (answer, error) {
	wait, err := seconds(in.Wait)
	if err != nil {
		return answer{}, err
	}
	t, err := find(ctx, in.Path)
	if err != nil {
		return answer{}, err
	}
	st, mine, err := s.lockStatus(ctx, t)
	if err != nil {
		return answer{}, err
	}
	if rec := api.RecordOf(st.Record); mine && rec != nil && !rec.Holder().Auto {
		return answer{fmt.Sprintf("you hold the lease of %s already: token %d, holder %s", worktreeText(st.Worktree, t), rec.FencingToken, api.HolderText(api.ViewOfRecord(rec))),
			leaseAnswer{Worktree: st.Worktree, Path: t.Path, Token: rec.FencingToken, Already: true, Holder: api.ViewOfRecord(rec)}}, nil
	}
	if in.Purpose == "" {
		in.Purpose = c.client()
	}
	if wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.over, cancel)() // nobody is left to write under it
	}
	defer c.waiting(ctx, "waiting for the lease of "+t.Path)()
	req := api.Acquire{Taking: api.Taking{Where: api.Where{Path: t.Rel}, Process: s.agent(), Scope: s.cfg.Scope, Purpose: in.Purpose, WaitMS: wait.Milliseconds()}}
	resp, err := client.Ask(ctx, t.Mount, req, s.cfg.Pinned, nil)
	if err != nil {
		return answer{}, errors.Join(err, s.takenUnheard(ctx, t))
	}
	return s.acquired(t, resp)
}

// takenUnheard gives back a lease that the daemon granted while the call was cancelled. Before the call it was
// not the agent's.
func (s *server) takenUnheard(ctx context.Context, t client.Target) error {
	if ctx.Err() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
	defer cancel()
	st, mine, err := s.lockStatus(ctx, t)
	if rec := api.RecordOf(st.Record); err != nil || !mine || rec == nil || rec.Holder().Auto {
		return err
	}
	return s.giveBack(ctx, t, st.Token)
}

func (s *server) acquired(t client.Target, resp api.Response) (answer, error) {
	rec := api.RecordOf(resp.Record)
	if rec == nil {
		return answer{}, fmt.Errorf("the answer has no record that can be read")
	}
	s.taken.add(keyOf(t, rec.WorktreeID), takenLease{t, rec.FencingToken, rec.HolderID})
	view := api.ViewOfRecord(rec)
	return answer{
		fmt.Sprintf("acquired the lease of %s: token %d, holder %s. It is renewed while that process lives; release it when you are done.",
			worktreeText(rec.WorktreeID, t), rec.FencingToken, api.HolderText(view)),
		leaseAnswer{Worktree: rec.WorktreeID, Path: t.Path, Token: rec.FencingToken, Holder: view},
	}, nil
}

// held makes sure that the agent belongs to the holder. Root may release and hand over what is not its own, but
// an agent of root must not do that by mistake.
func (s *server) held(ctx context.Context, t client.Target) (api.LockStatus, error) {
	st, mine, err := s.lockStatus(ctx, t)
	if err != nil || mine {
		return st, err
	}
	f := &api.Failure{Class: lease.ClassLockNotHeld, File: st.File, Message: fmt.Sprintf("you do not hold the lease of %s", worktreeText(st.Worktree, t)),
		Next: "call acquire, if you want to write there"}
	if rec := api.RecordOf(st.Record); rec != nil && st.State != api.StateFree {
		f.Holder = api.ViewOfRecord(rec)
		f.Next = "ask its holder, or call acquire with wait_seconds"
	}
	return st, f
}

func (s *server) release(ctx context.Context, _ call, in pathArgs) (answer, error) {
	t, err := find(ctx, in.Path)
	if err != nil {
		return answer{}, err
	}
	st, err := s.held(ctx, t)
	if err != nil {
		return answer{}, err
	}
	who, pidfd := s.asHolder()
	resp, err := client.Ask(ctx, t.Mount, api.Release{Holding: api.Holding{Where: api.Where{Path: t.Rel}, Process: who}}, pidfd, nil)
	if err != nil {
		return answer{}, err
	}
	var kept api.Kept
	if json.Unmarshal(resp.Result, &kept) == nil && kept.Holder != 0 {
		return answer{fmt.Sprintf("kept %s: jvsfs exec holds the lease until its command (process %d) ends", worktreeText(st.Worktree, t), kept.Holder),
			leaseAnswer{Worktree: st.Worktree, Path: t.Path, Token: st.Token, Already: true}}, nil
	}
	s.taken.remove(keyOf(t, st.Worktree))
	return answer{fmt.Sprintf("released the lease of %s", worktreeText(st.Worktree, t)),
		leaseAnswer{Worktree: st.Worktree, Path: t.Path, Token: st.Token, Released: true}}, nil
}

func (s *server) handover(ctx context.Context, c call, in handoverArgs) (answer, error) {
	req, pidfd, err := in.request()
	if err != nil {
		return answer{}, err
	}
	defer host.CloseFile(pidfd)
	t, err := find(ctx, in.Path)
	if err != nil {
		return answer{}, err
	}
	st, err := s.held(ctx, t)
	if err != nil {
		return answer{}, err
	}
	defer c.waiting(ctx, "handing over "+t.Path)()
	req.Path = t.Rel
	resp, err := client.Ask(ctx, t.Mount, req, pidfd, nil)
	if err != nil {
		return answer{}, err
	}
	var r api.HandoverResult
	if err := json.Unmarshal(resp.Result, &r); err != nil {
		return answer{}, err
	}
	rec := api.RecordOf(r.Record)
	if rec == nil {
		return answer{}, fmt.Errorf("the answer has no record that can be read")
	}
	s.taken.remove(keyOf(t, st.Worktree))
	view := api.ViewOfRecord(rec)
	return answer{
		fmt.Sprintf("handed over the lease of %s: token %d, holder %s. Your writes there are refused from now on.", worktreeText(st.Worktree, t), rec.FencingToken, api.HolderText(view)),
		leaseAnswer{Worktree: st.Worktree, Path: t.Path, Token: rec.FencingToken, Holder: view, From: r.From},
	}, nil
}

// request is the handover, with the pinned process that is to hold, if one was named.
func (in handoverArgs) request() (api.Handover, *os.File, error) {
	wait, err := secondsOr(in.Wait, defaultWait)
	req := api.Handover{Host: in.ToHost, Taking: api.Taking{Process: api.Process{PID: in.ToPID}, Purpose: in.Purpose, WaitMS: max(wait, time.Millisecond).Milliseconds()}}
	named := 0
	for _, is := range []bool{in.ToPID != 0, in.ToSession != 0, in.ToHost != ""} {
		if is {
			named++
		}
	}
	switch {
	case err != nil:
		return req, nil, err
	case named != 1 || in.ToPID < 0 || in.ToSession < 0:
		return req, nil, mistake("name one of to_pid, to_session and to_host")
	case in.ToHost != "" && in.Purpose != "":
		return req, nil, mistake("the other host says its purpose itself: leave purpose out")
	case in.ToHost != "":
		return req, nil, nil
	case in.ToSession != 0:
		req.PID, req.Scope = in.ToSession, string(gate.ScopeSession)
	}
	pidfd, err := process.OpenPidfd(req.PID)
	if err != nil {
		return req, nil, &api.Failure{Message: fmt.Sprintf("process %d: %s", req.PID, human.Printable(err.Error())), Next: "name a running process", Err: err}
	}
	return req, pidfd, nil
}
