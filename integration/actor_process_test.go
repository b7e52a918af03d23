package integration

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

// stage is an actor's memory: what it has open, by name.
type stage struct{ box }

// actorMain serves commands until its input ends. Runs in the actor process.
func actorMain(in io.Reader, out io.Writer) int {
	// A store into a mapping whose page cannot be had is an answer, not an end.
	debug.SetPanicOnFault(true)
	unix.Umask(actorUmask)
	s := &stage{box: *newBox("")}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return 0
		}
		var c command
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
func (s *stage) perform(c command) (r reply) {
	defer func() {
		if p := recover(); p != nil {
			r = reply{Errno: "SIGBUS", Note: fmt.Sprint(p)}
		}
	}()
	op, found := actorOps[c.Op]
	if !found {
		return reply{Errno: "EBADCOMMAND", Note: c.Op}
	}
	s.vals, s.data = nil, nil
	err := op(s, c)
	return reply{Errno: errnoName(err), Vals: s.vals, Data: s.data, Note: noteOf(err)}
}

// errnoName is the symbolic name of the system's error, "" for none, and the
// text for what is not a system's error.
func errnoName(err error) string {
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
