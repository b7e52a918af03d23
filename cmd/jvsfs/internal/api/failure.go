package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// The exit codes of jvsfs; scripts rely on the numbers.
const (
	ExitOK         = 0
	ExitError      = 1
	ExitUsage      = 2
	ExitConflict   = 10 // E_LOCK_CONFLICT
	exitExpired    = 11 // E_LOCK_EXPIRED
	ExitNotHeld    = 12 // E_LOCK_NOT_HELD
	exitFencing    = 13 // E_FENCING_MISMATCH
	exitClockSkew  = 14 // E_CLOCK_SKEW_EXCEEDED
	ExitStore      = 15 // a record cannot be read, or the store failed
	ExitNoMount    = 16 // no such mount, or a mount whose daemon is dead
	ExitBusy       = 17 // processes keep the mount busy
	ExitLeaseLost  = 75 // exec: the lease was lost while the command ran
	ExitNotRun     = 126
	ExitNotFound   = 127
	ExitSignalBase = 128 // exec: 128+n when the command ended by signal n
)

// Classes of this command; they exist beside the classes of package lease.
const (
	ClassNoMount lease.Class = "E_NO_MOUNT"
	ClassBusy    lease.Class = "E_MOUNT_BUSY"
	ClassUsage   lease.Class = "E_USAGE"
	ClassDenied  lease.Class = "E_NOT_PERMITTED"
)

// ExitCodes are the exit codes of the classes that have one of their own.
var ExitCodes = map[lease.Class]int{
	lease.ClassLockConflict:      ExitConflict,
	lease.ClassLockExpired:       exitExpired,
	lease.ClassLockNotHeld:       ExitNotHeld,
	lease.ClassFencingMismatch:   exitFencing,
	lease.ClassClockSkewExceeded: exitClockSkew,
	lease.ClassRecordUnreadable:  ExitStore,
	lease.ClassStoreFailed:       ExitStore,
	lease.ClassAuditFailed:       ExitStore,
	lease.ClassBadWorktreeID:     ExitUsage,
	ClassUsage:                   ExitUsage,
	ClassNoMount:                 ExitNoMount,
	ClassBusy:                    ExitBusy,
}

// ExitCodeOf is the exit code of a class, 1 for a class without a number.
func ExitCodeOf(c lease.Class) int {
	if code, ok := ExitCodes[c]; ok {
		return code
	}
	return ExitError
}

// holderView is what anyone may know of a holder: the record without its
// secrets (nonce and session).
type holderView struct {
	HolderID     string      `json:"holder_id"`
	Host         string      `json:"host,omitempty"`
	User         string      `json:"user,omitempty"`
	UID          uint32      `json:"uid"`
	PID          int         `json:"pid,omitempty"`
	Scope        string      `json:"scope,omitempty"`
	Purpose      string      `json:"purpose,omitempty"`
	Auto         bool        `json:"auto,omitempty"`
	FencingToken lease.Token `json:"fencing_token,omitempty"`
	ExpiresAt    *time.Time  `json:"lease_expires_at,omitempty"`
}

// ViewOfHolder is a holder without its secrets.
func ViewOfHolder(h lease.Holder) *holderView {
	return &holderView{
		HolderID: h.ID(), Host: h.Host, User: h.User, UID: h.UID, PID: h.PID,
		Scope: h.Scope, Purpose: h.Purpose, Auto: h.Auto,
	}
}

// ViewOfRecord is the holder of a record without its secrets, nil for no record.
func ViewOfRecord(r *lease.Record) *holderView {
	if r == nil {
		return nil
	}
	v := ViewOfHolder(r.Holder())
	at := r.ExpiresAt()
	v.ExpiresAt = &at
	v.FencingToken = r.FencingToken
	return v
}

// Failure is how every command ends that does not succeed: what scripts need
// (Code, Class) and what a person needs (Message, Next). It travels over the
// control socket as it is.
type Failure struct {
	Code    int         `json:"-"` // 0: the code of the class
	Class   lease.Class `json:"class,omitempty"`
	Message string      `json:"message"`
	File    string      `json:"file,omitempty"`
	Holder  *holderView `json:"holder,omitempty"`
	Next    string      `json:"next,omitempty"`
	Busy    []BusyEntry `json:"processes,omitempty"`

	silent bool  // nothing is printed: the command of exec has said it, or its code is the message
	Answer bool  `json:"-"` // a daemon said it, over its control socket
	Err    error `json:"-"`
}

// Error is the failure in one line.
func (f *Failure) Error() string {
	if f.Class == "" {
		return f.Message
	}
	return string(f.Class) + ": " + f.Message
}

// Unwrap is the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Exit is the exit code of the failure.
func (f *Failure) Exit() int {
	if f.Code != 0 {
		return f.Code
	}
	return ExitCodeOf(f.Class)
}

// Usagef is the failure of a command line, or a request, that asks for what cannot be.
func Usagef(format string, args ...any) *Failure {
	return &Failure{Class: ClassUsage, Message: fmt.Sprintf(format, args...), Next: "see jvsfs --help"}
}

// ExitWith ends the program with code and without a word.
func ExitWith(code int) *Failure { return &Failure{Code: code, silent: true} }

// AsFailure turns any error into a failure; nil stays nil.
func AsFailure(err error) *Failure {
	if err == nil {
		return nil
	}
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	var le *lease.Error
	if errors.As(err, &le) {
		return failureOfLease(le)
	}
	var refusal *gate.Refusal
	if errors.As(err, &refusal) {
		return &Failure{Class: refusal.Class(), Message: refusal.Sentence(), Next: refusal.Next(), Err: err}
	}
	if errors.Is(err, context.Canceled) {
		return &Failure{Code: ExitSignalBase + int(syscall.SIGINT), Message: "interrupted", Err: err}
	}
	return &Failure{Message: err.Error(), Err: err}
}

func failureOfLease(le *lease.Error) *Failure {
	f := &Failure{
		Class: le.Class, Message: le.Message, File: le.File,
		Holder: ViewOfRecord(le.Holder), Next: le.Next, Err: le,
	}
	if f.Message == "" && le.Err != nil {
		f.Message = le.Err.Error()
	} else if le.Err != nil {
		f.Message += ": " + le.Err.Error()
	}
	return f
}

// NoProcess says why a process that was named is not to be had.
func NoProcess(pid int, err error) *Failure {
	return &Failure{Message: fmt.Sprintf("process %d: %v", pid, err), Next: "name a running process with --pid", Err: err}
}

// UsageError is the failure of a configuration.
func UsageError(err error) *Failure {
	return &Failure{Class: ClassUsage, Message: err.Error(), Next: "see jvsfs mount --help", Err: err}
}

// BusyFailure names who keeps a mount busy.
func BusyFailure(point string, who []BusyEntry) *Failure {
	f := &Failure{
		Class: ClassBusy, Message: fmt.Sprintf("processes keep %s busy", point), Busy: who,
		Next: "end them, or let them leave the directory and close their files, then try again",
	}
	if len(who) > 0 && !slices.ContainsFunc(who, func(e BusyEntry) bool { return e.PID != 0 }) {
		f.Message, f.Next = point+" is in use, though by no process", "run what stands beside each, then try again"
	}
	if len(who) == 0 {
		f.Message += ", and none of them can be seen from here (another mount namespace, or a mount on top of it)"
		f.Next = "look for mounts below it: findmnt -R " + point
	}
	return f
}
