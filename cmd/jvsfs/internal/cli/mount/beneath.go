package mount

import (
	"fmt"
	"slices"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// A process in the directory that a mount covers stays there, and writes past the fence. The most common one is
// the shell that mounted in place. The kernel moves no process.

// beneathMount holds the processes beneath a mount, the nearest ancestors of this command first.
type beneathMount struct {
	entries []api.BusyEntry
	shell   int // the process that ran this command if it is one of them, or 0
}

// whoStands finds the processes beneath a place, mounted or not. A helper that runs this command as another user
// (sudo) ends with the command, and is left out.
func whoStands(point string) beneathMount {
	mounts, err := host.ReadMounts()
	if err != nil {
		return beneathMount{}
	}
	line, helpers := host.Ancestry()
	return orderStanding(host.Beneath(mounts, host.ReadNamespaces("/proc"), point), line, helpers)
}

// orderStanding is whoStands without I/O.
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

// ShownStanding bounds what people are shown. doctor and --json show all.
const ShownStanding = 12

// sayBeneath tells people which processes are beneath the new mount.
func (m *mountCommand) sayBeneath(point string) []api.BusyEntry {
	s := whoStands(point)
	if len(s.entries) == 0 || m.forRuns { // run says it in its own words
		return s.entries
	}
	note := console.Note(m.io)
	if s.shell != 0 {
		note(fmt.Sprintf("the shell that you run this in (process %d) stands beneath the mount, where nothing is fenced: cd \"$PWD\" takes it into the mount", s.shell))
	}
	note(fmt.Sprintf("these processes use %s from before the mount or past it, and their writes are not fenced; let them leave the directory or close their files, then come back through the path:", point))
	fmt.Fprint(m.io.Err, api.BusyText(s.entries[:min(len(s.entries), ShownStanding)], human.Columns(m.io.Err)))
	if more := len(s.entries) - ShownStanding; more > 0 {
		fmt.Fprintf(m.io.Err, "... and %d more: jvsfs doctor names them all\n", more)
	}
	return s.entries
}

// refuseStanding is --strict: no process may be beneath.
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
