package record

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Class names a kind of failure. The first seven are from locking spec v6.3.
type Class string

// The classes.
const (
	ClassLockConflict           Class = "E_LOCK_CONFLICT"
	ClassLockExpired            Class = "E_LOCK_EXPIRED"
	ClassLockNotHeld            Class = "E_LOCK_NOT_HELD"
	ClassFencingMismatch        Class = "E_FENCING_MISMATCH"
	ClassClockSkewExceeded      Class = "E_CLOCK_SKEW_EXCEEDED"
	ClassConsistencyUnavailable Class = "E_CONSISTENCY_UNAVAILABLE"
	ClassPartialSnapshot        Class = "E_PARTIAL_SNAPSHOT"
	ClassRecordUnreadable       Class = "E_RECORD_UNREADABLE"
	ClassStoreFailed            Class = "E_STORE_FAILED"
	ClassBadWorktreeID          Class = "E_BAD_WORKTREE_ID"
	ClassAuditFailed            Class = "E_AUDIT_FAILED"
)

// Error is every failure that a lease and its rooms report on purpose. It is not changed after it was returned.
type Error struct {
	Class    Class
	Worktree WorktreeID
	File     string  // the file concerned, "" if none
	Holder   *Record // of the holder who stands in the way; nil if unknown. Its nonce is a secret
	Message  string  // one sentence for a person
	Next     string  // what to do about it
	Err      error   // the cause, for errors.Is
	Stuck    string  // what must change before it helps to wait, for a person; "" if to wait may be enough
}

// Error is "<class>: <message>: <cause> (file <file>; holder <id>)".
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Class, e.Message)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	var about []string
	if e.File != "" {
		about = append(about, "file "+Printable(e.File))
	}
	if e.Holder != nil {
		about = append(about, "holder "+Printable(e.Holder.HolderID))
	}
	if len(about) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(about, "; "))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf is the class of the first [*Error] in err's chain, "" if there is none.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}

// StuckOn is what must change before it helps to wait out err, "" if to wait may be enough.
func StuckOn(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Stuck
	}
	return ""
}

// Printable is text of a record without control characters, which could drive a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
