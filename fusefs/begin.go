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
	engine.Judge
	// about is what the policies are told of it.
	about() *engine.Mutation
	// ask asks the policies what they refuse to anybody, and the gates, by what is known now, and says what else is needed. It does not wait
	// for anything else.
	ask() (permit, fuse.Status)
	// learn finds out what ask did not know, while nothing is held.
	learn() fuse.Status
	// inode is whose content or attributes are about to change; nil: none.
	inode() *node
}

// needs is what a change needs besides the passes of its gates, and what its policies plan.
type needs struct {
	unknown bool // not all was known by which it is to be judged
	moves   bool // the move lock, whatever has admitted the change
}

// nameChange is for a change of names that needs no search before.
type nameChange struct {
	mutation engine.Mutation
	names    [2]engine.Name
}

func (c *nameChange) about() *engine.Mutation { return &c.mutation }
func (c *nameChange) learn() fuse.Status      { return fuse.OK }
func (c *nameChange) inode() *node            { return nil }

// beginTries bounds how often a change is judged anew because of what others have changed meanwhile.
const beginTries = 3

// begin admits a change: ask, take what is needed in the order of [engine.Rank], and look again. It is the one loop in which this stands. A
// change through a handle is judged by the epochs of the handle instead (admitHandleInside).
func (f *rawFS) begin(c change) (permit, fuse.Status) {
	for range beginTries {
		p, st := f.settled(func() (permit, fuse.Status) {
			p, st := c.ask()
			if st == fuse.OK && p.needs.moves && !p.needs.unknown && !p.takeMoves() {
				p.abandon()
				return permit{}, fuse.EBUSY
			}
			return p, st
		})
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
		again := false
		if len(f.policies) > 0 {
			m := c.about()
			m.Judge = c
			if p, again, st = f.askPolicies(p, *m); again {
				continue
			}
		}
		if n := c.inode(); n != nil && st == fuse.OK {
			p.begin(f, n)
		}
		return p, st
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

// askFirst asks the policies what they refuse to anybody, whatever the gates say.
func (f *rawFS) askFirst(m *engine.Mutation) fuse.Status {
	if len(f.policies) == 0 {
		return fuse.OK
	}
	return f.answer(f.policies.Ask(m))
}

// askPolicies has the policies of the mount judge a change that the gates have admitted. After a refusal nothing is held, and neither if the
// gates are to be asked again.
func (f *rawFS) askPolicies(p permit, m engine.Mutation) (_ permit, again bool, st fuse.Status) {
	by, err := f.policies.Admit(m, &p.held, func(no error) bool {
		st = f.answer(no)
		return st == fuse.OK
	})
	if err != nil {
		p.abandon()
		return permit{}, errors.Is(err, engine.ErrAgain), st
	}
	p.by = by
	return p, false, fuse.OK
}

// answer is that to the verdict of a policy. If the mount only observes, a refusal is told and not made.
func (f *rawFS) answer(err error) (st fuse.Status) {
	if err == nil {
		return fuse.OK
	}
	if all, joined := err.(interface{ Unwrap() []error }); joined {
		for _, err := range all.Unwrap() {
			if st = f.answer(err); st != fuse.OK {
				break
			}
		}
		return st
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
