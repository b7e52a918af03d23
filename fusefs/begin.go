package fusefs

import (
	"errors"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
)

// change is a mutation that is judged by what lies in the tree, which others may change meanwhile.
type change interface {
	// ask asks the gates, by what is known now. It does not wait for anything else.
	ask() (permit, fuse.Status)
	// known reports whether ask knew all that it needs. If not, learn finds it out, while nothing is held.
	known() bool
	learn() fuse.Status
	// moves says that the move lock is needed, whatever has admitted the change.
	moves() bool
	// hold is how the repository is held.
	hold() hold
	// still reports whether it would be judged as it was, now that all is held.
	still(p *permit) bool
}

// everyNameKnown is for a change that needs no search before.
type everyNameKnown struct{}

func (everyNameKnown) known() bool        { return true }
func (everyNameKnown) learn() fuse.Status { return fuse.OK }

// beginTries bounds how often a change is judged anew because of what others have changed meanwhile.
const beginTries = 3

// begin admits a change: ask, take what is needed in the order of [engine.Rank], and look again. It is the one loop in which this stands. A
// change through a handle is judged by the epochs of the handle instead (admitHandleInside).
func (f *rawFS) begin(m engine.Mutation, c change) (permit, fuse.Status) {
	ask := func() (permit, fuse.Status) {
		if len(f.policies) > 0 {
			if st := f.answer(f.policies.Ask(&m)); st != fuse.OK {
				return permit{}, st
			}
		}
		return c.ask()
	}
	for range beginTries {
		p, st := f.settled(ask)
		if st != fuse.OK {
			return p, st
		}
		if !c.known() {
			p.abandon()
			if st := c.learn(); st != fuse.OK {
				return permit{}, st
			}
			continue
		}
		if c.moves() && !p.takeMoves() {
			p.abandon()
			return permit{}, fuse.EBUSY
		}
		if p.hold(f, c.hold()); c.still(&p) {
			return f.askPolicies(p, m)
		}
		p.abandon()
	}
	return permit{}, f.refused() // what lies there changes all the time
}

// takeMoves waits for the move lock.
func (p *permit) takeMoves() bool {
	p.held.Reach(engine.Moves)
	return p.place.Take()
}

// askPolicies has the policies of the mount judge a change that the gates have admitted. After a refusal nothing is held.
func (f *rawFS) askPolicies(p permit, m engine.Mutation) (permit, fuse.Status) {
	by, err := f.policies.Admit(m, &p.held)
	p.by = by
	st := f.answer(err)
	if st != fuse.OK {
		p.abandon()
	}
	return p, st
}

// answer is that to the verdict of a policy. If the mount only observes, a refusal is told and not made.
func (f *rawFS) answer(err error) fuse.Status {
	if err == nil {
		return fuse.OK
	}
	if no, is := errors.AsType[*gate.Refusal](err); is {
		return f.refuseUnlessObserving(*no)
	}
	if errno, is := errors.AsType[syscall.Errno](err); is {
		return fuse.Status(errno)
	}
	return f.refused()
}
