package explain

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// recentReport is what `explain --json` prints without PATH; the names are a promise.
type recentReport struct {
	PID        int                `json:"pid"`
	Ended      bool               `json:"ended,omitempty"` // the process, so that nothing is said of worktrees
	SinceMS    int64              `json:"since_ms"`
	Refusals   []refusals.Located `json:"refusals"`             // the oldest first
	Incomplete bool               `json:"incomplete,omitempty"` // there was more than the daemons remember
	Worktrees  []api.Explanation  `json:"worktrees"`            // may the process write there now?
	Silent     []*api.Failure     `json:"silent,omitempty"`     // mounts that did not answer

	stuck *api.Failure // of a mount that the process uses
}

// recent explains what was refused lately.
func (e *explainCommand) recent(ctx context.Context, io console.Streams) error {
	pid, of, err := e.processes()
	if err != nil {
		return err
	}
	mounts, err := host.ReadMounts()
	if err != nil {
		return err
	}
	r := recentReport{
		PID: pid, Ended: hasEnded(pid), SinceMS: e.since.Milliseconds(),
		Refusals: []refusals.Located{}, Worktrees: []api.Explanation{},
	}
	r.gather(ctx, mounts, of, e.pid == 0)
	if e.asJSON {
		err = human.PrintJSON(io.Out, r)
	} else {
		_, err = fmt.Fprint(io.Out, r.text(e.pid == 0, time.Now()))
	}
	if code := r.exit(); err == nil && code != api.ExitOK {
		return api.ExitWith(code)
	}
	return err
}

// processes are the one to judge, and the one of whose refusals to tell, with those of its
// descendants: where none is named the parent of this command, which has run others before.
func (e *explainCommand) processes() (judged, of int, err error) {
	if e.pid != 0 {
		return e.pid, e.pid, nil
	}
	if judged, err = host.AskingProcess(); err != nil {
		return 0, 0, err
	}
	if of, err = host.CallerProcess(); err != nil {
		of = judged // its session is what there is
	}
	return judged, of, nil
}

func hasEnded(pid int) bool {
	fd, err := process.OpenPidfd(pid)
	if err != nil {
		return true
	}
	defer host.CloseFile(fd)
	return !process.PidfdAlive(fd)
}

// gather asks all mounts for the refusals of a process. session takes those of its session in.
func (r *recentReport) gather(ctx context.Context, mounts host.MountTable, of int, session bool) {
	where, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", r.PID)) // ended, or not ours to look at: it stands nowhere
	ours := mounts.JVSFS()
	stands := make(map[int]bool, len(ours))
	for _, m := range ours {
		stands[m.ID] = uses(r.PID, m)
	}
	answers := refusals.Ask(ctx, ours, client.StatusTimeout, func(m *mountinfo.Info) api.Refusals {
		req := api.Refusals{Process: api.Process{PID: of}, SinceMS: r.SinceMS, Session: session, Stands: stands[m.ID]}
		if at := mounts.At(where); at != nil && at.ID == m.ID {
			req.Path = host.InMount(m, where)
		}
		return req
	})
	for i, a := range answers {
		if a.Err != nil {
			f := api.AsFailure(a.Err)
			r.Silent = append(r.Silent, f)
			if stands[ours[i].ID] {
				r.stuck = f
			}
		}
		r.Refusals = append(r.Refusals, a.Refusals...)
		r.Worktrees = append(r.Worktrees, a.Worktrees...)
		r.Incomplete = r.Incomplete || a.Incomplete
	}
	sort.SliceStable(r.Refusals, func(i, j int) bool { return r.Refusals[i].At.Before(r.Refusals[j].At) })
}

// uses reports whether a process uses a mount, by its working directory or an open file.
func uses(pid int, m *mountinfo.Info) bool {
	dev := host.DeviceOf(m)
	scan := host.BusyScan{Proc: "/proc", Limit: 1, Want: func(o host.Opened, _ string) bool { return o.Dev == dev }}
	return len(scan.Process(pid)) > 0
}

// exit is the code of the latest refusal. Without one it is that of a worktree that the process may not write
// to, and then that of a mount that it uses and that does not answer.
func (r *recentReport) exit() api.ExitCode {
	if all := refusals.Actual(refusals.Summarise(r.Refusals)); len(all) > 0 {
		return api.ExitCodeOf(lease.Class(all[len(all)-1].Class))
	}
	for _, x := range r.Worktrees {
		if !x.Allowed {
			return api.ExitCodeOf(x.Class)
		}
	}
	if r.stuck != nil {
		return r.stuck.Exit()
	}
	return api.ExitOK
}

func (r *recentReport) text(session bool, now time.Time) string {
	var b strings.Builder
	span := (time.Duration(r.SinceMS) * time.Millisecond).String()
	all := refusals.Summarise(r.Refusals)
	for _, s := range all {
		fmt.Fprintf(&b, "%s (%s, %s)\n  %s\n", s.Text(), s.Class, human.Left(s.At.Sub(now)), s.Sentence)
		if s.Next != "" {
			fmt.Fprintf(&b, "  next: %s\n", s.Next)
		}
	}
	switch {
	case len(all) > 0:
	case session:
		fmt.Fprintf(&b, "no write of this session was refused in the last %s\n", span)
	case r.Ended:
		fmt.Fprintf(&b, "process %d has ended; no write of it is known to have been refused in the last %s\n", r.PID, span)
	default:
		fmt.Fprintf(&b, "no write of process %d was refused in the last %s\n", r.PID, span)
	}
	if r.Incomplete {
		b.WriteString("there were more refusals than the mount remembers\n")
	}
	for _, x := range r.Worktrees {
		b.WriteString("now: " + nowText(x, all, now))
	}
	for _, f := range r.Silent {
		if f == r.stuck {
			b.WriteString(api.FailureText(f))
		} else {
			fmt.Fprintf(&b, "note: %s\n", human.Printable(f.Message))
		}
	}
	return b.String()
}

// nowText explains a worktree. If it has been explained above, one line is enough.
func nowText(x api.Explanation, above []refusals.Summary, now time.Time) string {
	text := explanationText(x, now)
	said := slices.ContainsFunc(above, func(s refusals.Summary) bool { return s.Path == x.Path && s.Class == string(x.Class) })
	if !x.Allowed && said {
		text, _, _ = strings.Cut(text, "\n")
		text += ", for the same reason\n"
	}
	return text
}
