package lock

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// consent shows whom a steal would rob and asks, unless --yes has said so. It returns the token to which the
// user agreed; 0 stands for any holder. It notes whether there is anybody to rob.
func (f *lockFlags) consent(ctx context.Context, std console.Streams, t client.Target, policy record.Policy) (lease.Token, error) {
	if f.asJSON && !f.yes {
		return 0, &api.Failure{Class: api.ClassUsage, Message: "--json cannot ask", Next: "say --yes, after a look at jvsfs lock status"}
	}
	st, err := statusForSteal(ctx, t, policy)
	if err != nil {
		return 0, err
	}
	switch st.State {
	case lease.Free.String(), lease.Unreadable.String():
		f.robsNobody = true
		return 0, nil // nobody is robbed, or the steal itself says why it cannot be
	}
	if _, err := io.WriteString(std.Err, robbedText(st, time.Now())); err != nil {
		return 0, err
	}
	switch {
	case f.yes:
		return 0, nil
	case !console.IsTerminal(std.In) || !console.IsTerminal(std.Err):
		return 0, &api.Failure{Class: api.ClassUsage, Message: "a steal wants an answer, and there is no terminal to ask on",
			Next: "look at whom it robs, then say --yes"}
	}
	yes, err := console.AskYes(ctx, std, "Steal it? [y/N] ")
	if err != nil {
		return 0, err
	}
	if !yes {
		return 0, &api.Failure{Message: "nothing was stolen"}
	}
	return st.Token, nil
}

func statusForSteal(ctx context.Context, t client.Target, policy record.Policy) (st api.LockStatus, err error) {
	var resp api.Response
	if t.Mount != nil {
		resp, err = client.Ask(ctx, t.Mount, api.LookAtLock{Where: api.Where{Path: t.Rel}}, nil, nil)
	} else {
		resp, err = lockop.PeekStatus(t.Place, policy, api.LookAtLock{})
	}
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal(resp.Result, &st)
}

// robbedText shows all that is known of a holder, so that a person can decide whether to rob it.
func robbedText(st api.LockStatus, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "jvsfs: the lease of %s is %s", st.Worktree, st.State)
	if st.Reason != "" {
		fmt.Fprintf(&b, ": %s", human.Printable(st.Reason))
	}
	b.WriteByte('\n')
	rec := api.RecordOf(st.Record)
	if rec == nil {
		return b.String()
	}
	h := rec.Holder()
	scope := h.Scope
	if h.Auto {
		scope += ", taken by writing"
	}
	for _, row := range [][2]string{
		{"holder", h.ID()}, {"scope", scope}, {"host", hostText(h)}, {"purpose", h.Purpose}, {"token", fmt.Sprint(rec.FencingToken)},
		{"since", rec.CreatedAt.Local().Format(time.DateTime)},
		{"until", fmt.Sprintf("%s (%s)", rec.ExpiresAt().Local().Format(time.DateTime), human.Left(rec.ExpiresAt().Sub(now)))},
		{"process", processText(h)},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", row[0], human.Printable(row[1]))
		}
	}
	return b.String()
}

func hostText(h lease.Holder) string {
	switch {
	case h.Host == "":
		return ""
	case h.Host == process.HostName():
		return h.Host + " (this one, by its name)"
	}
	return h.Host
}

// processText says whether the holder's process lives, which only its own machine knows.
func processText(h lease.Holder) string {
	if h.PID == 0 {
		return "none is bound to the lease"
	}
	text := map[lease.Liveness]string{
		lease.Alive: "is alive", lease.Stopped: "is stopped", lease.Gone: "has ended", lease.Unknown: "cannot be seen from here",
	}[gate.Liveness(h)]
	return fmt.Sprintf("%d %s", h.PID, text)
}
