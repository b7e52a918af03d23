package lookup

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
)

// What commands wait for, and what there is after Ctrl-C.

// InFlight looks at the changes that a mount has not finished.
func InFlight(m *mountinfo.Info, what string) func(context.Context) string {
	return func(ctx context.Context) string {
		s := client.StatusOf(ctx, m)
		n := s.InFlight
		for _, w := range s.Worktrees {
			n += w.InFlight
		}
		switch n {
		case 0:
			return what
		case 1:
			return what + ": 1 change is in flight"
		}
		return fmt.Sprintf("%s: %d changes are in flight", what, n)
	}
}

// LeaseHeld looks at who has the lease that a target is about.
func LeaseHeld(t client.Target) func(context.Context) string {
	return func(ctx context.Context) string {
		what := "the lease of " + t.Path
		if holder, err := holderNow(ctx, t); err == nil && holder != "" {
			what += ", held by " + holder
		}
		return what
	}
}

// holderNow is who has a lease; "" if nobody has it.
func holderNow(ctx context.Context, t client.Target) (string, error) {
	if t.Mount == nil {
		return "", errors.ErrUnsupported // the records tell only whose claim there is
	}
	st, err := client.AskFor[api.LockStatus](ctx, t.Mount, api.LookAtLock{Where: api.Where{Path: t.Rel}}, nil)
	if err != nil {
		return "", err
	}
	if rec := api.RecordOf(st.Record); rec != nil && !rec.Released {
		return api.HolderText(api.ViewOfRecord(rec)), nil
	}
	return "", nil
}

// LeaseNow says who has a lease after a command was interrupted.
func LeaseNow(t client.Target) func(context.Context) string {
	return func(ctx context.Context) string {
		switch holder, err := holderNow(ctx, t); {
		case errors.Is(err, errors.ErrUnsupported):
			return ""
		case err != nil:
			return "who holds " + t.Path + " cannot be told now: jvsfs lock status " + t.Path
		case holder == "":
			return "nobody holds " + t.Path
		default:
			return t.Path + " is held by " + holder
		}
	}
}

// ModeNow says how a mount enforces after a switch was interrupted.
func ModeNow(m *mountinfo.Info) func(context.Context) string {
	return func(ctx context.Context) string {
		s := client.StatusOf(ctx, m)
		if s.Enforce == "" {
			return "the mode of " + m.Mountpoint + " cannot be told now: jvsfs status"
		}
		return fmt.Sprintf("the mode of %s is %s", m.Mountpoint, s.ModeText())
	}
}

// MountNow says whether a mount is there after a command was interrupted.
func MountNow(point string) func(context.Context) string {
	return func(context.Context) string {
		m, err := MountAt(point)
		if err != nil || m == nil {
			return "nothing is mounted at " + point
		}
		return point + " is mounted; what its daemon has begun goes on: jvsfs status"
	}
}
