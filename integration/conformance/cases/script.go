package cases

import (
	"fmt"
	"strconv"
	"strings"
)

// A script is commands between semicolons, "[@WHO] COMMAND ARG...". Commands before "--" prepare. They are not
// noted unless they fail. After it, each command's result is noted, with the changes in the tree. Words may
// hold <nN>, a name of N bytes, and <pN:NAME>, a path of N bytes to NAME; ” is the empty word.
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
	for _, c := range commandsOf(setup) {
		if _, err := t.perform(c); err != nil {
			t.Note("%s fails: %s", short(c.String()), errnoOf(err))
		}
	}
	seen := t.look()
	for _, c := range commandsOf(steps) {
		tick()
		note, err := t.perform(c)
		now := t.look()
		t.Note("%s: %s%s", short(c.String()), errnoOf(err), within(note, seen.changes(now, !c.reads())))
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

// step is one command of a script.
type step struct {
	who  string
	name string
	args []string
}

func (c step) String() string {
	words := append([]string{c.name}, c.args...)
	if c.who != "0" {
		words = append([]string{"@" + c.who}, words...)
	}
	return strings.Join(words, " ")
}

// reads reports whether the command may touch access times natively, which the
// mount never does.
func (c step) reads() bool {
	switch c.name {
	case "read", "pread", "copy", "readlink", "readdir", "run", "sendfile", "mapread", "mapwrite", "direct":
		return true
	}
	return false
}

func commandsOf(text string) []step {
	var all []step
	for one := range strings.SplitSeq(text, ";") {
		words := strings.Fields(one)
		if len(words) == 0 {
			continue
		}
		c := step{who: "0"}
		if words[0][0] == '@' {
			c.who, words = words[0][1:], words[1:]
		}
		c.name = words[0]
		for _, w := range words[1:] {
			c.args = append(c.args, expand(w))
		}
		all = append(all, c)
	}
	return all
}

// expand replaces <nN> and <pN:NAME>, and undoes the quotes of an empty word.
func expand(w string) string {
	if w == "''" {
		return ""
	}
	for {
		at := strings.IndexByte(w, '<')
		end := strings.IndexByte(w, '>')
		if at < 0 || end < at {
			return w
		}
		w = w[:at] + pad(w[at+1:end]) + w[end+1:]
	}
}

func pad(what string) string {
	number, name, _ := strings.Cut(what[1:], ":")
	n, err := strconv.Atoi(number)
	if err != nil {
		panic(fmt.Errorf("in <%s>: %w", what, err))
	}
	if what[0] == 'n' {
		return strings.Repeat("n", n)
	}
	left := n - len(name)
	return strings.Repeat("./", left/2-left%2) + strings.Repeat(".//", left%2) + name
}

// perform runs one command on the thread of its actor.
func (t *Trial) perform(c step) (note string, err error) {
	run, known := commands[c.name]
	if !known {
		panic("no command " + c.name)
	}
	t.as(c.who, func() {
		defer func() {
			if p := recover(); p != nil {
				note = faultNote(p)
			}
		}()
		note, err = run(t, c.args)
	})
	return note, err
}

// faultNote names the signal that a store past the end of a mapped file gets.
func faultNote(p any) string {
	if _, fault := p.(interface{ Addr() uintptr }); fault {
		return "SIGBUS"
	}
	return fmt.Sprintf("panic: %v", p)
}
