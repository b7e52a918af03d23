package api

import (
	"slices"
	"syscall"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// ExitCode is the code with which a command ends. Scripts rely on the numbers.
type ExitCode int

// The exit codes of jvsfs.
const (
	ExitOK          ExitCode = 0
	ExitError       ExitCode = 1
	ExitUsage       ExitCode = 2
	ExitConflict    ExitCode = 10
	ExitExpired     ExitCode = 11
	ExitNotHeld     ExitCode = 12
	ExitFencing     ExitCode = 13
	ExitClockSkew   ExitCode = 14
	ExitStore       ExitCode = 15
	ExitNoMount     ExitCode = 16
	ExitBusy        ExitCode = 17
	ExitUnquiet     ExitCode = 18
	ExitPartial     ExitCode = 19
	ExitLeaseLost   ExitCode = 75
	ExitNotRun      ExitCode = 126
	ExitNotFound    ExitCode = 127
	exitSignalBase  ExitCode = 128 // as a shell counts
	ExitInterrupted          = exitSignalBase + ExitCode(syscall.SIGINT)
)

// ExitBySignal is the code of a command that a signal ended.
func ExitBySignal(s syscall.Signal) ExitCode { return exitSignalBase + ExitCode(s) }

// Classes of this command; they exist beside the classes of packages lease and gate.
const (
	ClassNoMount lease.Class = "E_NO_MOUNT"
	// ClassStoreFailed is lease's, for who knows the protocol alone.
	ClassStoreFailed             = lease.ClassStoreFailed
	ClassBusy        lease.Class = "E_MOUNT_BUSY"
	ClassUsage       lease.Class = "E_USAGE"
	ClassDenied      lease.Class = "E_NOT_PERMITTED"
)

// ExitRow is one row of the table of exit codes.
type ExitRow struct {
	Code    ExitCode
	Brief   string        // for jvsfs --help
	Text    string        // for manual pages, beside the classes
	Classes []lease.Class // the failures that end with the code
}

// Exits is the table of exit codes. Help texts and manual pages are made from it, and a test compares
// jvsfs-json(7) with it.
var Exits = []ExitRow{
	{ExitOK, "ok", "Done.", nil},
	{ExitError, "other error", `Another error, or a "no" to a steal; **hook**: any error.`,
		[]lease.Class{ClassDenied, gate.ClassNoRight, gate.ClassReadOnly, gate.ClassSealed, gate.ClassImmutable}},
	{ExitUsage, "usage", "Usage, a path that is not there, or a steal that cannot ask and has no **--yes**; **hook**: a write would be refused.", []lease.Class{ClassUsage, lease.ClassBadWorktreeID}},
	{ExitConflict, "conflict", "", []lease.Class{lease.ClassLockConflict}},
	{ExitExpired, "expired", "", []lease.Class{lease.ClassLockExpired}},
	{ExitNotHeld, "not held", "", []lease.Class{lease.ClassLockNotHeld}},
	{ExitFencing, "fencing mismatch", "", []lease.Class{lease.ClassFencingMismatch}},
	{ExitClockSkew, "clock skew", "", []lease.Class{lease.ClassClockSkewExceeded}},
	{ExitStore, "record unreadable or store failed", "",
		[]lease.Class{lease.ClassRecordUnreadable, lease.ClassStoreFailed, lease.ClassAuditFailed}},
	{ExitNoMount, "no such mount or dead mount", "No such mount, or its daemon is dead or silent.", []lease.Class{ClassNoMount}},
	{ExitBusy, "busy", "Processes keep the mount busy, or what a switch waits for has not ended.", []lease.Class{ClassBusy}},
	{ExitUnquiet, "cannot be quiesced", "**quiesce**: no quiet moment could be had; the command was not run.", []lease.Class{lease.ClassConsistencyUnavailable}},
	{ExitPartial, "quiesce was broken", "**quiesce**: something may have changed while the command ran.", []lease.Class{lease.ClassPartialSnapshot}},
	{ExitLeaseLost, "exec lost its lease", "**exec**: the lease was lost while the command ran.", nil},
	{ExitNotRun, "exec cannot run the command", "**exec**: the command cannot be run.", nil},
	{ExitNotFound, "exec does not find the command", "**exec**: the command is not there.", nil},
	{ExitInterrupted, "interrupted", "**lock** or **enforce** was interrupted. **exec**: 128+N if signal N ended the command.", nil},
}

// ExitCodeOf is the exit code of a class, ExitError of a class that is not in the table.
func ExitCodeOf(c lease.Class) ExitCode {
	for _, row := range Exits {
		if slices.Contains(row.Classes, c) {
			return row.Code
		}
	}
	return ExitError
}
