// Package operation is the one vocabulary in which tests say that somebody does something to a file system. Its
// table has for each operation the name, the arguments and the call. Whoever plays a test performs by it: an
// actor in a process of its own, a row of the fence, a case of the conformance run on a thread with credentials
// of its own, a writer or a stranger of the torture.
package operation

import (
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Command is one operation with its arguments. Op is a name of the table; the other fields mean what the
// operation makes of them.
type Command struct {
	Op     string          `json:"op"`
	Dir    string          `json:"dir,omitempty"` // whose box; names that are not absolute lie below it
	Path   string          `json:"path,omitempty"`
	To     string          `json:"to,omitempty"`
	Handle string          `json:"handle,omitempty"`
	Flags  int             `json:"flags,omitempty"`
	Mode   uint32          `json:"mode,omitempty"`
	Off    int64           `json:"off,omitempty"`
	From   int64           `json:"from,omitempty"`
	Len    int64           `json:"len,omitempty"`
	UID    int             `json:"uid,omitempty"`
	GID    int             `json:"gid,omitempty"`
	Name   string          `json:"name,omitempty"` // also of a second handle, or a mapping
	Data   []byte          `json:"data,omitempty"`
	Args   []string        `json:"args,omitempty"`
	Times  []unix.Timespec `json:"times,omitempty"`
}

// Reply is the answer. Errno is the symbolic name, "" for success.
type Reply struct {
	Errno string  `json:"errno"`
	Vals  []int64 `json:"vals,omitempty"`
	Data  []byte  `json:"data,omitempty"`
	Note  string  `json:"note,omitempty"`
}

// Call performs an operation with what is in a box. Numbers and bytes that it returns stay in the box.
type Call func(b *Box, c Command) error

// operation is an entry of the table: how a line of text gives its arguments, in the words of kinds, and the call.
type operation struct {
	words string
	call  Call
}

var table = map[string]operation{}

// add puts operations of one kind into the table. A name means one thing.
func add(some map[string]operation) {
	for name, o := range some {
		if _, found := table[name]; found {
			panic("two operations: " + name)
		}
		table[name] = o
	}
}

// Add makes known what only some stories do. A line of text gives it no arguments.
func Add(name string, call Call) { add(map[string]operation{name: {call: call}}) }

// Perform does one operation. A fault in it, a store into a mapping whose page cannot be had, is an answer.
func (b *Box) Perform(c Command) (r Reply) {
	o, found := table[c.Op]
	if !found {
		return Reply{Errno: "EBADCOMMAND", Note: c.Op}
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			r = Reply{Errno: "SIGBUS", Note: fmt.Sprint(p)}
		default:
			r = Reply{Errno: fmt.Sprint("panic: ", p)}
		}
	}()
	b.Vals, b.Data = nil, nil
	err := o.call(b, c)
	r = Reply{Errno: ErrnoName(err), Vals: b.Vals, Data: b.Data}
	if err != nil {
		r.Note = err.Error()
	}
	return r
}

// Play performs lines up to the first that fails, whose answer it returns.
func (b *Box) Play(lines string) (r Reply) {
	for _, c := range Lines(lines) {
		if r = b.Perform(c); r.Errno != "" {
			break
		}
	}
	return r
}

// Do performs lines in a directory, with a box of their own.
func Do(dir, lines string) error {
	b := NewBox(dir)
	defer b.Drop()
	if r := b.Play(lines); r.Errno != "" {
		return fmt.Errorf("%s in %s: %s", lines, dir, r.Errno)
	}
	return nil
}

// ErrnoName is the symbolic name of the system's error, "" for none, and the text for what is not a system's error.
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
	return fmt.Sprintf("errno %d", int(no))
}
