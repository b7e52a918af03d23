package gate

import (
	"errors"
	"fmt"

	"github.com/jvsfs/jvsfs/lease"
)

// windowPhase is how far a window has come.
type windowPhase uint8

const (
	windowSettling windowPhase = iota // writers wait, and what was stored through mappings may still land
	windowOpen                        // nothing lands
	windowOver                        // writers go on
)

// windowState is what is known of a window. It is a value: each event returns the next one. It reads no clock and
// no record. Once it is over, no event changes it. So the first cause of a broken window is the one that is told.
type windowState struct {
	phase  windowPhase
	token  lease.Token // the highest one of which it is known that its writers wait, too
	broken error       // why what was read meanwhile may be of two states; nil if it was not, or not yet
}

// The causes of a broken window.
var (
	errWindowStored  = errors.New("a store through a mapping of a file came from a process meanwhile")
	errWindowElapsed = errors.New("it has lasted as long as it may")
)

// settled says that nothing is in flight and that nothing is let in any more.
func (s windowState) settled() windowState {
	if s.phase == windowSettling {
		s.phase = windowOpen
	}
	return s
}

// stored says that the kernel writes back what was stored through a mapping. Readers of the mount may have seen
// it. While the window settles, it is let in.
func (s windowState) stored() windowState {
	if s.phase == windowSettling {
		return s
	}
	return s.breaks(errWindowStored)
}

// granted says that this mount has opened a lease. Its writers wait, unless somebody elsewhere had one in between.
func (s windowState) granted(t lease.Token) windowState {
	if s.phase != windowOver && t == s.token+1 {
		s.token = t
	}
	return s
}

// lost says that a lease of this mount has closed. Only after an end in peace can nobody else have written: the
// next lease is a grant of this mount, or it is found at the end of the window.
func (s windowState) lost(k lease.LossKind) windowState {
	if k == lease.LossReleased || k == lease.LossIdle || k == lease.LossHolderGone || k == lease.LossResumed {
		return s
	}
	return s.breaks(fmt.Errorf("the lease was lost: %v", k))
}

// ended says that who asked for the window is done, with the highest token that was ever granted.
func (s windowState) ended(head lease.Token) windowState {
	if head != s.token {
		return s.breaks(fmt.Errorf("the lease was taken through another mount or host (token %d)", head))
	}
	if s.phase == windowSettling {
		return s.breaks(errors.New("it had not begun"))
	}
	s.phase = windowOver
	return s
}

// breaks ends the window for a cause.
func (s windowState) breaks(why error) windowState {
	if s.phase != windowOver {
		s.phase, s.broken = windowOver, why
	}
	return s
}
