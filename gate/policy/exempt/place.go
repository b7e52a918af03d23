package exempt

import (
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Place is the place of one mutation, for the gate to ask about. It implements
// gate.Place. nil is that of a mutation that no rule can admit.
type Place struct {
	lock  *MoveLock
	who   gate.Request // it waits at the move lock until its caller is killed
	alone bool         // the mutation may take an inode to the other side
	find  func(*Place) gate.Where

	held  bool
	pass  int
	found gate.Where // what the gate agreed to
	// dies is an inode that loses its last name by the mutation.
	dies tree.Inode
}

// Nowhere makes it the place of what lies under several guards.
func (s *Place) Nowhere() { s.find = func(*Place) gate.Where { return gate.Where{} } }

// For says whose mutation it is.
func (s *Place) For(who gate.Request) { s.who = who }

// Found is what the gate has agreed to.
func (s *Place) Found() gate.Where { return s.found }

// Dies is an inode that loses its last name by the mutation; nil: none that is known.
func (s *Place) Dies() tree.Inode { return s.dies }

// Hold implements gate.Place.
func (s *Place) Hold(ok func(gate.Where) bool) bool {
	was := s.held
	if !s.Take() {
		return false
	}
	if w := s.find(s); ok(w) {
		s.found = w
		return true
	}
	if !was {
		s.Release()
	}
	return false
}

// Take has the move lock from now on, whatever admitted the mutation.
func (s *Place) Take() bool {
	if s == nil || s.held {
		return true
	}
	s.pass, s.held = s.lock.Take(s.alone, s.who)
	return s.held
}

// Release implements gate.Place.
func (s *Place) Release() {
	if s != nil && s.held {
		s.held = false
		s.lock.Release(s.pass, s.alone)
	}
}
