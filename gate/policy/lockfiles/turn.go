package lockfiles

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// Turn waits for the turn to change names of locks, and judges the change. The names that come are those that are
// made, or replaced by a rename. End must follow once the change has left its guards. signal is closed when the caller gets a signal.
func (p *Policy) Turn(signal <-chan struct{}, op gate.Op, by process.Caller, come, goes []Name) (*tenure.Turn, error) {
	c := tenure.Change{Op: op}
	for _, s := range come {
		c.Names = nameOf(c.Names, s, op, true)
	}
	for _, s := range goes {
		c.From = s.path
		c.Names = nameOf(c.Names, s, op, false)
	}
	if len(c.Names) == 0 {
		return nil, nil
	}
	c.Caller = by
	c.Away = func() (<-chan struct{}, func()) {
		return p.enforcement.Wait(gate.Request{Op: op, Caller: by, Signal: signal})
	}
	t, no, interrupted := p.book.Begin(c)
	switch {
	case interrupted:
		return nil, unix.EINTR
	case no != nil:
		return nil, told(no)
	}
	return t, nil
}

// nameOf adds a name to those of a change, if it is a lock's, or may be that of a directory with locks below.
func nameOf(to []tenure.Name, s Name, op gate.Op, comes bool) []tenure.Name {
	if s.path == "" || len(s.place.Locks) == 0 && (op != gate.OpRename || !s.isDir) {
		return to
	}
	return append(to, tenure.Name{Path: s.path, Comes: comes, Locks: s.place.Locks, File: s.gets, Exists: s.exists, IsDir: s.isDir})
}
