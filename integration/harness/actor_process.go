package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// actorUmask is the umask of every actor at its start: not the usual 022, so
// that a daemon that applies its own shows.
const actorUmask = 0o027

// Stage is an actor's memory: what it has open, by name.
type Stage struct{ Box }

// actorMain serves commands until its input ends. Runs in the actor process.
func actorMain(in io.Reader, out io.Writer) int {
	// A store into a mapping whose page cannot be had is an answer, not an end.
	debug.SetPanicOnFault(true)
	unix.Umask(actorUmask)
	s := &Stage{Box: *NewBox("")}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return 0
		}
		var c Command
		if err == nil {
			err = json.Unmarshal(line, &c)
		}
		if err == nil {
			err = json.NewEncoder(out).Encode(s.perform(c))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "actor:", err)
			return 1
		}
	}
}

// perform runs one operation; a fault in it is reported as SIGBUS.
func (s *Stage) perform(c Command) (r Reply) {
	defer func() {
		if p := recover(); p != nil {
			r = Reply{Errno: "SIGBUS", Note: fmt.Sprint(p)}
		}
	}()
	op, found := ActorOps[c.Op]
	if !found {
		return Reply{Errno: "EBADCOMMAND", Note: c.Op}
	}
	s.Vals, s.Data = nil, nil
	err := op(s, c)
	return Reply{Errno: ErrnoName(err), Vals: s.Vals, Data: s.Data, Note: noteOf(err)}
}

// ErrnoName is the symbolic name of the system's error, "" for none, and the
// text for what is not a system's error.
func ErrnoName(err error) string {
	var no unix.Errno
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &no):
		return err.Error()
	}
	if name := unix.ErrnoName(no); name != "" {
		return name
	}
	return no.Error()
}

func noteOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
