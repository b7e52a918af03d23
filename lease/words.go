package lease

import "github.com/jvsfs/jvsfs/lease/record"

// What nearly every call of this package takes or returns has the package's own name, too.
type (
	// WorktreeID is [record.WorktreeID].
	WorktreeID = record.WorktreeID
	// Token is [record.Token].
	Token = record.Token
	// Holder is [record.Holder].
	Holder = record.Holder
	// Error is [record.Error].
	Error = record.Error
	// Class is [record.Class].
	Class = record.Class
)

// The classes.
const (
	ClassLockConflict           = record.ClassLockConflict
	ClassLockExpired            = record.ClassLockExpired
	ClassLockNotHeld            = record.ClassLockNotHeld
	ClassFencingMismatch        = record.ClassFencingMismatch
	ClassClockSkewExceeded      = record.ClassClockSkewExceeded
	ClassConsistencyUnavailable = record.ClassConsistencyUnavailable
	ClassPartialSnapshot        = record.ClassPartialSnapshot
	ClassRecordUnreadable       = record.ClassRecordUnreadable
	ClassStoreFailed            = record.ClassStoreFailed
	ClassBadWorktreeID          = record.ClassBadWorktreeID
	ClassAuditFailed            = record.ClassAuditFailed
)

// ClassOf is [record.ClassOf].
func ClassOf(err error) Class { return record.ClassOf(err) }

// StuckOn is [record.StuckOn].
func StuckOn(err error) string { return record.StuckOn(err) }
