package gate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// acquireWait bounds how long a writer waits while AcquireOnFree takes a lease for it. The store
// answers in milliseconds; a store that hangs must not hang editors.
const acquireWait = 5 * time.Second

func (cfg *GuardConfig) autoScope() Scope {
	if cfg.Scope == ScopeDefault {
		return ScopeSession
	}
	return cfg.Scope
}

// acquire takes the lease for the writer's session (or for the configured scope). It stops
// waiting when the guard begins to close: a request must not wait for a close that waits for
// requests.
//
// after is the epoch of a holder that has ended, or nil. It has to close first, so acquire waits
// for that. This is safe: nothing of such a holder is in flight that could wait for this request.
func (a attempt) acquire(id process.Identity, after *epoch) *Refusal {
	h, err := a.cfg.Resolver.autoHolder(id, a.cfg.autoScope())
	if err != nil {
		return a.refusal(a.Op, reasonNobody, nil)
	}
	h.Purpose = a.origin(id)
	if a.waitForEnd(after); a.Killed() { // a lease for a dead caller would keep others waiting
		return a.refusal(a.Op, reasonClosing, nil)
	}
	a.mu.Lock()
	turn := a.turn
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(turn, acquireWait)
	defer cancel()
	end, ok := a.cfg.Enforcement.limit.Begin(a.waiter(), cancel)
	if !ok {
		return a.refusal(a.Op, reasonClosing, nil)
	}
	defer end()
	if _, err = a.keeper.Acquire(ctx, h); err == nil {
		return nil
	}
	no := a.refusal(a.Op, reasonOf(err), nil)
	if no.Reason == reasonStore {
		no.err = err
	}
	var le *lease.Error
	if errors.As(err, &le) && le.Holder != nil {
		no.Holder, no.Token = le.Holder.Holder(), le.Holder.FencingToken
	}
	return no
}

func reasonOf(err error) Reason {
	switch lease.ClassOf(err) {
	case lease.ClassLockConflict, lease.ClassLockExpired:
		return reasonHeldElsewhere
	case lease.ClassClockSkewExceeded:
		return reasonSkewed
	case lease.ClassRecordUnreadable:
		return reasonUnreadable
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return reasonClosing
	}
	return reasonStore
}

const (
	commandShown = 32  // bytes; the kernel's names are shorter
	wroteShown   = 160 // bytes of a path
)

// origin says which process a lease was taken for by writing, and what it wrote. It is the purpose of the lease, so
// it is read on other hosts and by older releases: "held for make (pid 70), which wrote src/x".
func (a attempt) origin(id process.Identity) string {
	if id.PID == 0 {
		return ""
	}
	st, err := process.ReadStat(id.PID)
	if err != nil || st.Start != id.Start { // it was killed
		return ""
	}
	text := fmt.Sprintf("%s (pid %d)", shown(st.Comm, commandShown), id.PID)
	if a.cfg.Wrote == nil || a.Node == 0 {
		return text
	}
	if path := a.cfg.Wrote(a.Node, a.Name); path != "" {
		text += ", which wrote " + shown(path, wroteShown)
	}
	return text
}

// shown makes text that a user chose safe to be shown, and short: its end says more than its beginning.
func shown(s string, most int) string {
	s = strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !strconv.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
	if len(s) <= most {
		return s
	}
	for s = s[len(s)-most:]; !utf8.RuneStart(s[0]); s = s[1:] {
	}
	return "…" + s
}
