package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// The errors of a keeper. Each names the worktree and its lock file.

func (s *Store) refuse(c Class, message, next string, holder *record.Record, err error) *Error {
	return &Error{Class: c, Worktree: s.id, File: s.display(s.viewName()), Holder: holder, Message: message, Next: next, Err: err}
}

func (s *Store) busy(cause error) error {
	return s.refuse(ClassLockConflict, "the lease is just being changed here", "try again", nil, cause)
}

func (s *Store) notHeld() error {
	return s.refuse(ClassLockNotHeld, fmt.Sprintf("worktree %s is not held here", s.id), "acquire it first", nil, nil)
}

// asError makes sure that an error has a class.
func (s *Store) asError(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return s.refuse(ClassStoreFailed, "the lease store failed", "look at the lock directory", nil, err)
}

// conflict says who holds the lease, and until when.
func (s *Store) conflict(h Head, j Judgement) error {
	file := h.File
	who := "somebody"
	if h.Record != nil {
		who = record.Printable(h.Record.HolderID)
		if h.Record.Purpose != "" {
			who += fmt.Sprintf(" (%q)", record.Clip(h.Record.Purpose, 80))
		}
	}
	e := s.refuse(ClassLockConflict, fmt.Sprintf("worktree %s is held by %s: %s", s.id, who, j.Reason),
		"wait, or ask the holder to release it", h.Record, nil)
	if file != "" {
		e.File = file
	}
	if !j.Until.IsZero() {
		e.Message += fmt.Sprintf(", until %s unless it is renewed", j.Until.UTC().Format(time.RFC3339))
	}
	switch j.State {
	case Skewed:
		e.Class, e.Next = ClassClockSkewExceeded, "set the clocks of all hosts right, then try again; jvsfs doctor --strict shows them"
	case Expired:
		e.Next = "wait for skew and grace to pass, then try again"
	}
	return e
}
