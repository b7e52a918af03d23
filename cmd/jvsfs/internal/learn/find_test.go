package learn

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// told is what is proposed, without the comments.
func told(f Found) string {
	var lines []string
	for line := range strings.Lines(f.Text()) {
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " #")
		if line = strings.TrimRight(line, " "); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "; ")
}

func by(pid, parent int, all ...Event) []Event {
	for i := range all {
		all[i].Who = Who{PID: pid, Parent: parent, Name: "p"}
	}
	return all
}

func flat(all ...[]Event) (events []Event) {
	for _, one := range all {
		events = append(events, one...)
	}
	return events
}

// What programs do, and what is proposed for it.
func TestProposals(t *testing.T) {
	write := func(name string) Event { return Event{Kind: Change, Path: name} }
	made := func(kind Kind, name string) Event { return Event{Kind: kind, Path: name} }
	renamed := func(from, to string) Event { return Event{Kind: Rename, Path: from, To: to} }
	for _, c := range []struct {
		name   string
		events []Event
		want   string
	}{
		{"git's locks derive from what they guard; one that only goes is of the same kind",
			by(2, 1, made(Create, "g/HEAD.lock"), made(Create, "g/refs/main.lock"), renamed("g/refs/main.lock", "g/refs/main"), write("g/log"), made(Remove, "g/HEAD.lock")),
			"- name: learned-lock; lock: 'g/{dir...}/{f}.lock'; taken_by: create; guards: ['g/{dir...}/{f}']; except: ['g/**/*.lock']; without: allow"},
		{"mkdir in a script, in two directories",
			flat(by(2, 1, made(Mkdir, "d/a/.busy")), by(1, 0, write("d/a/out"), made(Open, "d/a/s/f")), by(3, 1, made(Remove, "d/a/.busy")),
				by(4, 1, made(Mkdir, "d/b/.busy")), by(1, 0, write("d/b/out")), by(5, 1, made(Remove, "d/b/.busy"))),
			"- name: learned-busy; lock: 'd/{x}/.busy'; taken_by: create; holder: parent; guards: ['d/{x}/out', 'd/{x}/s/**']; except: ['d/*/.busy', 'd/*/.busy/**']"},
		{"a shell's noclobber, removed by rm, which it started: the shell holds it",
			flat(by(1, 0, made(Create, "x.lock"), write("y")), by(2, 1, made(Remove, "x.lock"))),
			"- name: learned-x.lock; lock: 'x.lock'; taken_by: create; guards: ['y']; except: ['x.lock']"},
		{"a write before the lock", by(1, 0, write("y"), made(Create, "lock"), write("y"), made(Remove, "lock")),
			"- name: learned-lock; lock: 'lock'; taken_by: create; guards: ['y']; except: ['lock']; without: allow"},
		{"link takes the lock; the file that it is made of is no lock",
			by(1, 0, made(Create, "tmp1"), Event{Kind: Link, Path: "tmp1", To: "l.lock"}, made(Remove, "tmp1"), write("y"), made(Remove, "l.lock")),
			"- name: learned-l.lock; lock: 'l.lock'; taken_by: create; guards: ['y']; except: ['l.lock']"},
		{"a file that is replaced by a temporary one has no lock", by(1, 0, made(Create, "f.tmp8a"), write("f.tmp8a"), renamed("f.tmp8a", "f")), ""},
		{"a temporary file is seen once", by(1, 0, made(Create, "sedXy"), write("y"), made(Remove, "sedXy")), ""},
		{"a lock that guards nothing that was seen is none", by(1, 0, made(Create, "x.lock"), made(Remove, "x.lock")), ""},
		{"flock ends with its open file",
			flat(by(1, 0, Event{Kind: Flock, Path: "t/l", Handle: 1}, write("t/db")), by(0, 0, Event{Kind: Unlock, Path: "t/l", Handle: 1}), by(1, 0, write("t/other"))),
			"- name: learned-l; lock: 't/l'; taken_by: flock; guards: ['t/db']; except: ['t/l']"},
		{"ranges", by(1, 0, made(Range, "db"), write("db")), ""},
		{"names that mean something in patterns and in YAML", by(1, 0, made(Create, "it's[1].lock"), write("a\nb{c}"), made(Remove, "it's[1].lock")),
			"- name: learned-it-s-1-.lock; lock: 'it''s?1?.lock'; taken_by: create; guards: ['a?b?c?']; except: ['it''s?1?.lock']"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Find(c.events)
			require.Equal(t, c.want, told(f))
			require.Equal(t, c.want != "", f.Any())
		})
	}
}

// What is not known is said, and text of others does not leave its comment.
func TestCommentsSayWhatIsNotKnown(t *testing.T) {
	text := Find(by(1, 0, Event{Kind: Create, Path: "l.lock\nx"}, Event{Kind: Change, Path: "y"}, Event{Kind: Remove, Path: "l.lock\nx"}, Event{Kind: Range, Path: "db"})).Text()
	require.Contains(t, text, "seen: 1 time, 1 lock, such as l.lock?x, made with O_EXCL by p")
	require.Contains(t, text, "break and on_gone: what is to become of the lock of a holder that has ended cannot be seen")
	require.Contains(t, text, "db: ranges of it were locked with fcntl")
	f := Find(by(1, 0, Event{Kind: Create, Path: "t1"}, Event{Kind: Change, Path: "y"}, Event{Kind: Remove, Path: "t1"}))
	require.Equal(t, []string{"t1"}, f.Maybe())
}
