package main

import (
	"fmt"
	"slices"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// Who stands in the directory that a mount covers stays there, and writes past the fence: first
// of all the shell that a mount in place was started from. The kernel moves nobody.

// beneathMount is who stands beneath a mount, the nearest ancestors of this command first.
type beneathMount struct {
	entries []api.BusyEntry
	shell   int // the process that ran this command, if it is one of them; 0: it is not
}

// whoStands looks who is beneath a place, mounted or not. What runs this command as somebody
// else (sudo) ends with it, and is left out.
func whoStands(point string) beneathMount {
	mounts, err := host.ReadMounts()
	if err != nil {
		return beneathMount{}
	}
	line, helpers := host.Ancestry()
	return orderStanding(host.Beneath(mounts, host.ReadNamespaces("/proc"), point), line, helpers)
}

// orderStanding is whoStands without the machine.
func orderStanding(all []api.BusyEntry, line []int, helpers map[int]bool) beneathMount {
	all = slices.DeleteFunc(all, func(e api.BusyEntry) bool { return helpers[e.PID] })
	rank := func(e api.BusyEntry) int {
		if i := slices.Index(line, e.PID); i >= 0 {
			return i
		}
		return len(line)
	}
	slices.SortStableFunc(all, func(a, b api.BusyEntry) int { return rank(a) - rank(b) })
	s := beneathMount{entries: all}
	nearest := slices.IndexFunc(line, func(pid int) bool { return !helpers[pid] })
	if len(all) > 0 && nearest >= 0 && all[0].PID == line[nearest] && all[0].Use == "cwd" {
		s.shell = line[nearest]
	}
	return s
}

// shownStanding bounds what is told to people; doctor and --json tell of all.
const shownStanding = 12

// sayBeneath names to people who stands beneath the mount that has just been made.
func (m *mountCommand) sayBeneath(point string) []api.BusyEntry {
	s := whoStands(point)
	if len(s.entries) == 0 {
		return nil
	}
	note := noteTo(m.io)
	if s.shell != 0 {
		note(fmt.Sprintf("the shell that you run this in (process %d) stands beneath the mount, where nothing is fenced: cd \"$PWD\" takes it into the mount", s.shell))
	}
	note(fmt.Sprintf("these have %s open from before the mount or past it, and what they write there is not fenced; let them leave, or close their files, and come back:", point))
	fmt.Fprint(m.io.err, api.BusyText(s.entries[:min(len(s.entries), shownStanding)]))
	if more := len(s.entries) - shownStanding; more > 0 {
		fmt.Fprintf(m.io.err, "... and %d more: jvsfs doctor names them all\n", more)
	}
	return s.entries
}

// refuseStanding is --strict: nobody may be left beneath.
func (m *mountCommand) refuseStanding(point string) error {
	if !m.strict {
		return nil
	}
	s := whoStands(point)
	if len(s.entries) == 0 {
		return nil
	}
	f := &api.Failure{
		Class: api.ClassBusy, Message: fmt.Sprintf("processes stand in %s, and would write past the mount", human.Printable(point)), Busy: s.entries,
		Next: "let them leave the directory and close their files; or mount without --strict, and they are named",
	}
	if s.shell != 0 {
		f.Next = fmt.Sprintf("the shell that you run this in (process %d) is one of them: cd / there, then mount; %s", s.shell, f.Next)
	}
	return f
}
