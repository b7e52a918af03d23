package cases

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

// A script is operations between semicolons, "[@WHO] NAME ARG..." as the table of package operation has them.
// Those before "--" prepare. They are not noted unless they fail. After it, each one's result is noted, with
// the changes in the tree.
func script(name, text string) Case {
	return Case{Name: name, Alone: strings.Contains(text, " run "), Run: func(t *Trial) { t.play(text) }}
}

// scripts makes a case of each line "NAME: SCRIPT". A line that begins with a blank continues the one before. A
// name after "!" is of a case that runs alone: it leaves an error that the next fsync anywhere may report.
func scripts(topic, lines string) []Case {
	var all []Case
	var name, text string
	flush := func() {
		if name != "" {
			name, alone := strings.CutPrefix(name, "!")
			c := script(topic+"/"+name, text)
			c.Alone = c.Alone || alone
			all = append(all, c)
		}
		name, text = "", ""
	}
	for line := range strings.Lines(lines) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.TrimSpace(line) == "":
		case line[0] == '\t' || line[0] == ' ':
			text += " " + strings.TrimSpace(line)
		default:
			flush()
			name, text, _ = strings.Cut(line, ": ")
		}
	}
	flush()
	return all
}

func (t *Trial) play(text string) {
	setup, steps, both := strings.Cut(text, "--")
	if !both {
		setup, steps = "", text
	}
	for _, c := range stepsOf(setup) {
		if r := t.perform(c); r.Errno != "" {
			t.Note("%s fails: %s", short(c.text), r.Errno)
		}
	}
	seen := t.look()
	for _, c := range stepsOf(steps) {
		tick()
		r := t.perform(c)
		now := t.look()
		t.Note("%s: %s%s", short(c.text), cmp.Or(r.Errno, "ok"), within(t.returned(r), seen.changes(now, !c.reads())))
		seen = now
	}
}

func within(note, changes string) string {
	if note != "" {
		note = " " + note
	}
	if changes != "" {
		note += " {" + changes + "}"
	}
	return note
}

// step is one operation of a script.
type step struct {
	who, text string
	operation.Command
}

// reads reports whether the command may touch access times natively, which the
// mount never does.
func (c step) reads() bool {
	switch c.Op {
	case "read", "pread", "copy", "readlink", "readdir", "run", "sendfile", "mapread", "mapwrite", "direct":
		return true
	}
	return false
}

func stepsOf(text string) (all []step) {
	for one := range strings.SplitSeq(text, ";") {
		words := strings.Fields(one)
		if len(words) == 0 {
			continue
		}
		c := step{who: "0", text: strings.Join(words, " ")}
		if words[0][0] == '@' {
			c.who, words = words[0][1:], words[1:]
		}
		if c.Command = operation.Line(words); c.Op == "open" {
			c.Flags |= unix.O_NONBLOCK // nobody reads or writes the FIFOs of the cases
		}
		all = append(all, c)
	}
	return all
}

// perform does one step on the thread of its actor.
func (t *Trial) perform(c step) (r operation.Reply) {
	t.as(c.who, func() { r = t.box.Perform(c.Command) })
	return r
}

// returned words what a call has returned besides an errno. A call that failed has returned nothing.
func (t *Trial) returned(r operation.Reply) string {
	if r.Errno != "" {
		return ""
	}
	var words []string
	for _, n := range r.Vals {
		words = append(words, fmt.Sprint(n))
	}
	if r.Data != nil {
		words = append(words, short(fmt.Sprintf("%q", bytes.ReplaceAll(r.Data, []byte(t.Dir), []byte("DIR")))))
	}
	return strings.Join(words, " ")
}
