package gate

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// Reason is why an operation was refused.
type Reason uint8

// The reasons. Each has a line in the table of verdicts. Exported are those that other packages
// find or check.
const (
	reasonNone Reason = iota
	ReasonHeldByOther
	reasonHeldElsewhere
	ReasonFree
	reasonStaleHandle
	reasonMovedHandle
	reasonObservedHandle
	ReasonStaleMapping
	reasonExpired
	reasonRenewFailed
	reasonClosing
	reasonHandover
	reasonMoving
	reasonQuiesced
	reasonQuiescing
	reasonRevokedExpired
	reasonRevokedStolen
	reasonNobody
	reasonUnreadable
	reasonSkewed
	reasonStore
	reasonLate
	ReasonReadOnly
	ReasonSealed
	ReasonBadWorktree
	ReasonKept
	ReasonAddOnly
	ReasonFixed
	reasonNotExempt
	reasonQueued
	ReasonLockHeld
	ReasonLockStays
	ReasonRobbed
	ReasonLockBelow
	ReasonNoRenewal
	ReasonOnce
	ReasonKeep
	ReasonAppend
	ReasonReady
	ReasonOvertaken
	ReasonReplacing
	ReasonReplaced
	// reasonNoRight is no refusal of the lease: it is neither counted nor told.
	reasonNoRight
	// reasonKilled is none, either: the caller was killed while it waited.
	reasonKilled
	// ReasonEstaleRetry is none, either: the caller makes the call again, and waits before.
	ReasonEstaleRetry
	reasonCount
)

// Classes of refusals that the locking spec does not name.
const (
	ClassNoRight  lease.Class = "E_PERMISSION"
	ClassReadOnly lease.Class = "E_READ_ONLY_MOUNT"
	ClassSealed   lease.Class = "E_SEALED"
	// ClassImmutable is of what a rule lets nobody change.
	ClassImmutable lease.Class = "E_IMMUTABLE"
)

type verdict struct {
	class    lease.Class
	sentence string // what is the matter, for a person; {worktree}, {holder} and {when} are filled in
	next     string // what to do about it
}

// verdicts is the one table from a reason to its class, its sentence and what to do next.
var verdicts = [reasonCount]verdict{
	ReasonHeldByOther: {lease.ClassLockConflict,
		"worktree {worktree} is being written by {holder}{when}",
		"wait for it, or acquire the lease when it is free: jvsfs lock acquire --wait 1m <worktree>"},
	reasonHeldElsewhere: {lease.ClassLockConflict,
		"the lease of worktree {worktree} is held through another mount or host by {holder}{when}",
		"wait for it, or see who it is: jvsfs lock status <worktree>"},
	ReasonFree: {lease.ClassLockNotHeld,
		"nobody holds the lease of worktree {worktree}, and this mount lets nobody write without one",
		"jvsfs lock acquire <worktree>, or jvsfs exec <worktree> -- CMD"},
	reasonStaleHandle: {lease.ClassFencingMismatch,
		"this file was opened for writing under a lease of worktree {worktree} that is over",
		"close the file and open it again under the current lease"},
	reasonMovedHandle: {lease.ClassFencingMismatch,
		"this file was opened for writing before its directory became worktree {worktree}",
		"close the file and open it again under the current lease"},
	reasonObservedHandle: {lease.ClassFencingMismatch,
		"this file was opened for writing without the lease of worktree {worktree}, while the mount only observed",
		"close the file, and open it again under the lease: jvsfs lock acquire <worktree>"},
	ReasonStaleMapping: {lease.ClassFencingMismatch,
		"a writer of an earlier lease of worktree {worktree} still maps this file, so stores through mappings cannot be told apart",
		"end the earlier writer or unmap the file there, or write with write(2)"},
	reasonExpired: {lease.ClassLockExpired,
		"the lease of worktree {worktree} held by {holder} was not renewed in time",
		"jvsfs lock acquire <worktree>"},
	reasonRenewFailed: {lease.ClassLockExpired,
		"the lease of worktree {worktree} held by {holder} could not be renewed, so writing stopped at once",
		"see jvsfs doctor; then jvsfs lock acquire <worktree>"},
	reasonClosing: {lease.ClassLockConflict,
		"the lease of worktree {worktree} is just being taken from {holder}",
		"try again"},
	reasonHandover: {lease.ClassLockConflict,
		"the lease of worktree {worktree} is being handed over by {holder}, and the write could not wait for the outcome",
		"see to whom: jvsfs lock status <worktree>; interrupting jvsfs lock handover takes an offer back"},
	reasonMoving: {lease.ClassLockConflict,
		"the root of worktree {worktree} is just being renamed, and the write could not wait for that",
		"try again"},
	reasonQuiesced: {lease.ClassLockConflict,
		"worktree {worktree} is quiesced for a snapshot, and the write could not wait for the end: too many wait",
		"try again; jvsfs status says until when"},
	reasonQuiescing: {lease.ClassLockConflict,
		"worktree {worktree} is quiesced for the command of this process, which may only read there",
		"let the command write elsewhere, or write before jvsfs quiesce"},
	reasonRevokedExpired: {lease.ClassLockExpired,
		"{holder} let its lease of worktree {worktree} expire and stays out until it acquires again on purpose",
		"jvsfs lock acquire <worktree>, or jvsfs exec <worktree> -- CMD"},
	reasonRevokedStolen: {lease.ClassFencingMismatch,
		"the lease of worktree {worktree} was taken from {holder}, which stays out until it acquires again on purpose",
		"jvsfs lock acquire <worktree>, or jvsfs exec <worktree> -- CMD"},
	reasonNobody: {lease.ClassLockNotHeld,
		"the writer runs where this mount cannot tell who it is (another pid namespace), so it holds no lease of worktree {worktree}",
		"mount with --scope user or mount, or write from the host"},
	reasonUnreadable: {lease.ClassRecordUnreadable,
		"the lease record of worktree {worktree} cannot be read, so nobody may write",
		"jvsfs doctor names the file and what is wrong with it"},
	reasonSkewed: {lease.ClassClockSkewExceeded,
		"clocks disagree about the lease of worktree {worktree}, so it is not taken over",
		"set the clocks, then try again; see jvsfs doctor --strict"},
	reasonStore: {lease.ClassStoreFailed,
		"the lease of worktree {worktree} could not be taken: the lock directory failed",
		"see jvsfs doctor"},
	reasonLate: {lease.ClassFencingMismatch,
		"a write to worktree {worktree} took effect after its lease was over, so it was not acknowledged",
		"look at the file: its bytes may be on the store; jvsfs doctor lists such writes"},
	ReasonReadOnly: {ClassReadOnly,
		"worktree {worktree} is read-only for everybody",
		"jvsfs enforce <mountpoint> enforce (root, or who mounted)"},
	ReasonSealed: {ClassSealed,
		"lock records and the directories that hold worktrees are changed by jvsfs alone",
		"use jvsfs lock; umount to repair by hand"},
	ReasonBadWorktree: {lease.ClassBadWorktreeID,
		`"{worktree}" is no name for a worktree (letters, digits, dot, dash and underscore)`,
		"choose another name"},
	ReasonKept: {lease.ClassLockConflict,
		"this lock file of git belongs to {holder}, which is running",
		"wait until it ends: its lock files go with it"},
	ReasonAddOnly: {ClassSealed,
		"git adds, replaces and removes such files, and never changes one in place",
		"let git do it: git hash-object -w FILE, git update-ref"},
	ReasonFixed: {ClassSealed,
		"the checkouts of the git repository rest on it as it is, so nobody changes it",
		"use git itself; umount to change the repository by hand"},
	reasonNotExempt: {lease.ClassFencingMismatch,
		"this file was opened for writing where anybody may write, and it is not there any more, or has another name elsewhere (worktree {worktree})",
		"close the file and open it again under the lease"},
	reasonQueued: {lease.ClassLockConflict,
		"others have asked for the lease of worktree {worktree} before",
		"wait for it, too: mount with a longer wait_on_conflict, or jvsfs exec --wait 1m <worktree> -- CMD"},
	ReasonLockHeld: {lease.ClassLockConflict,
		"the lock file {lock} belongs to {holder}, which is running (rule {rule})",
		"wait until it gives the lock up, or ends"},
	ReasonLockStays: {lease.ClassLockConflict,
		"the lock file {lock} is left from a process that has ended or is not known, and rule {rule} does not let it be taken away, or not yet",
		"see jvsfs rules show {rule}; umount to remove it by hand"},
	ReasonRobbed: {lease.ClassFencingMismatch,
		"the lock file {lock} was taken from the caller, and belongs to {holder} now (rule {rule})",
		"take the lock anew"},
	ReasonLockBelow: {lease.ClassLockConflict,
		"the lock file {lock} below this directory is held by {holder} (rule {rule})",
		"wait until it gives the lock up, or ends"},
	ReasonNoRenewal: {lease.ClassFencingMismatch,
		"what would replace the lock file {lock} is neither a renewal of its record nor a takeover in its time with the next token (rule {rule})",
		"read the record again"},
	ReasonOnce: {ClassImmutable,
		"rule {rule} lets nobody change this file after it was made",
		"make a new file; jvsfs rules show {rule}"},
	ReasonKeep: {ClassImmutable,
		"rule {rule} lets nobody remove this, or rename it away",
		"leave it; jvsfs rules show {rule}"},
	ReasonAppend: {ClassImmutable,
		"rule {rule} lets this file only grow",
		"append to it; jvsfs rules show {rule}"},
	ReasonReady: {ClassImmutable,
		"it belongs to a READY snapshot of JVS, which nobody changes",
		"make a new snapshot; what JVS does not need any more it removes itself: jvs cleanup, jvs gc"},
	ReasonOvertaken: {lease.ClassFencingMismatch,
		"the lease of worktree {worktree} has changed hands since this snapshot of JVS began, so it may be of no one state",
		"make it again: jvsfs quiesce <worktree> -- CMD lets writers wait meanwhile"},
	ReasonReplacing: {lease.ClassLockConflict,
		"the daemon of the mount is just being replaced, and the change of {lock} could not wait for that (rule {rule})",
		"try again"},
	ReasonReplaced: {lease.ClassLockConflict,
		"the mount in which the caller stands was replaced, and {lock} is changed through the new one alone, to which cd \"$PWD\" leads (rule {rule})",
		"cd \"$PWD\", or open the file again by its path"},
	reasonNoRight: {ClassNoRight,
		"the caller may not make this change itself, so no lease of worktree {worktree} is taken for it",
		"ask the worktree's owner, or root"},
	reasonKilled: {lease.ClassLockConflict,
		"the caller was killed while it waited for the lease of worktree {worktree}",
		"nothing was written"},
	ReasonEstaleRetry: {lease.ClassLockConflict,
		"the caller is to make the call again when it has waited for the lease of worktree {worktree}",
		"nothing was written"},
}

// Refusal is a no, with its class, its errno and a sentence for a person. It is made without
// formatting anything: a refused write must not cost more than an admitted one.
type Refusal struct {
	Reason   Reason
	Op       Op
	Errno    syscall.Errno
	Worktree lease.WorktreeID
	Holder   lease.Holder // who holds the lease, or lost it
	Token    lease.Token
	Left     time.Duration  // until the holder's deadline, 0 if it does not matter
	err      error          // the keeper's answer, if it was asked
	Caller   process.Caller // zero if the kernel does not say
	Observed bool           // it was let through: the mount only observes
	Lock     *LockFile      // that the refusal is about; nil: it is about a lease
}

// Class returns the error class.
func (r *Refusal) Class() lease.Class {
	if r.err != nil { // asking an error allocates, and mostly there is none
		if c := lease.ClassOf(r.err); c != "" {
			return c
		}
	}
	return r.verdict().class
}

// Sentence says what is the matter.
func (r *Refusal) Sentence() string {
	when := ""
	if r.Left > 0 && r.Lock == nil {
		when = fmt.Sprintf(" (token %d, %s left unless renewed)", r.Token, r.Left.Round(100*time.Millisecond))
	}
	s := r.fill(r.verdict().sentence, "{when}", when)
	if r.err != nil {
		s += ": " + r.err.Error()
	}
	return s
}

// Next says what to do about it.
func (r *Refusal) Next() string {
	if e, ok := errors.AsType[*lease.Error](r.err); ok && r.Reason == reasonUnreadable && e.Next != "" {
		return e.Next
	}
	return r.fill(r.verdict().next)
}

func (r *Refusal) fill(text string, more ...string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	lock := cmp.Or(r.Lock, &LockFile{})
	return strings.NewReplacer(append(more, "{worktree}", string(r.Worktree), "{holder}", describe(r.Holder), "{rule}", lock.Rule, "{lock}", lock.Path, "{until}", lock.Until.Local().Format(time.DateTime))...).Replace(text)
}

// Error makes a Refusal an error: class and sentence.
func (r *Refusal) Error() string { return string(r.Class()) + ": " + r.Sentence() }

func describe(h lease.Holder) string {
	if h.Host == "" && h.User == "" && h.PID == 0 {
		return "its former holder"
	}
	s := h.ID()
	if h.Scope != "" && h.Scope != string(ScopeTree) {
		s += " (" + h.Scope + ")"
	}
	if h.Purpose != "" {
		s += " for " + h.Purpose
	}
	return s
}
