package fusefs

import (
	"cmp"
	"errors"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
)

// change is a mutation that is judged by what lies in the tree, which others may change meanwhile.
type change interface {
	// ask asks the gates, by what is known now, and says what else is needed. It does not wait for anything else.
	ask() (permit, fuse.Status)
	// learn finds out what ask did not know, while nothing is held.
	learn() fuse.Status
	// still reports whether it would be judged as it was, now that all is held.
	still(p *permit) bool
}

// needs is what a change needs besides the passes of its gates.
type needs struct {
	unknown    bool // not all was known by which it is to be judged
	moves      bool // the move lock, whatever has admitted the change
	repository hold
}

// everyNameKnown is for a change that needs no search before.
type everyNameKnown struct{}

func (everyNameKnown) learn() fuse.Status { return fuse.OK }

// beginTries bounds how often a change is judged anew because of what others have changed meanwhile.
const beginTries = 3

// begin admits a change: ask, take what is needed in the order of [engine.Rank], and look again. It is the one loop in which this stands. A
// change through a handle is judged by the epochs of the handle instead (admitHandleInside).
func (f *rawFS) begin(m engine.Mutation, c change) (permit, fuse.Status) {
	ask := c.ask
	if len(f.policies) > 0 {
		ask = func() (permit, fuse.Status) {
			if st := f.answer(f.policies.Ask(&m)); st != fuse.OK {
				return permit{}, st
			}
			return c.ask()
		}
	}
	for range beginTries {
		p, st := f.settled(ask)
		if st != fuse.OK {
			return p, st
		}
		if p.needs.unknown {
			p.abandon()
			if st := c.learn(); st != fuse.OK {
				return permit{}, st
			}
			continue
		}
		if p.needs.moves && !p.takeMoves() {
			p.abandon()
			return permit{}, fuse.EBUSY
		}
		if p.needs.repository != holdNothing {
			p.hold(f, p.needs.repository)
		}
		switch {
		case !c.still(&p):
			p.abandon()
		case len(f.policies) > 0:
			return f.askPolicies(p, m)
		default:
			return p, fuse.OK
		}
	}
	return permit{}, f.refused() // what lies there changes all the time
}

// takeMoves waits for the move lock.
func (p *permit) takeMoves() bool {
	if engine.Checked {
		p.held.Reach(engine.Moves)
	}
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
	if no, is := errors.AsType[engine.Told](err); is {
		f.stats.outside.Add(1)
		return fuse.Status(no.Errno)
	}
	if errno, is := errors.AsType[syscall.Errno](err); is {
		return fuse.Status(errno)
	}
	return f.refused()
}

// refuseUnlessObserving refuses for a reason that no guard has.
func (f *rawFS) refuseUnlessObserving(no gate.Refusal) fuse.Status {
	no.Errno, no.Worktree = f.opts.Errno, cmp.Or(no.Worktree, f.opts.Layout.Tree())
	if no.Observed = f.opts.Enforcement.Mode() == gate.Observing; no.Observed {
		f.stats.would.Add(1)
	} else {
		f.stats.outside.Add(1)
	}
	if f.opts.OnRefusal != nil {
		f.opts.OnRefusal(&no)
	}
	if no.Observed {
		return fuse.OK
	}
	return f.refused()
}
