package main

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
	exitOK         = 0
	exitError      = 1
	exitUsage      = 2
	exitConflict   = 10 // E_LOCK_CONFLICT
	exitExpired    = 11 // E_LOCK_EXPIRED
	exitNotHeld    = 12 // E_LOCK_NOT_HELD
	exitFencing    = 13 // E_FENCING_MISMATCH
	exitClockSkew  = 14 // E_CLOCK_SKEW_EXCEEDED
	exitStore      = 15 // a record cannot be read, or the store failed
	exitNoMount    = 16 // no such mount, or a mount whose daemon is dead
	exitBusy       = 17 // processes keep the mount busy
	exitLeaseLost  = 75 // exec: the lease was lost while the command ran
	exitNotRun     = 126
	exitNotFound   = 127
	exitSignalBase = 128 // exec: 128+n when the command ended by signal n
)

// Classes of this command; they exist beside the classes of package lease.
const (
	classNoMount lease.Class = "E_NO_MOUNT"
	classBusy    lease.Class = "E_MOUNT_BUSY"
	classUsage   lease.Class = "E_USAGE"
	classDenied  lease.Class = "E_NOT_PERMITTED"
)

var exitCodes = map[lease.Class]int{
	"E_LOCK_CONFLICT":       exitConflict,
	"E_LOCK_EXPIRED":        exitExpired,
	"E_LOCK_NOT_HELD":       exitNotHeld,
	"E_FENCING_MISMATCH":    exitFencing,
	"E_CLOCK_SKEW_EXCEEDED": exitClockSkew,
	"E_RECORD_UNREADABLE":   exitStore,
	"E_STORE_FAILED":        exitStore,
	"E_AUDIT_FAILED":        exitStore,
	"E_BAD_WORKTREE_ID":     exitUsage,
	classUsage:              exitUsage,
	classNoMount:            exitNoMount,
	classBusy:               exitBusy,
}

// exitCodeOf is the exit code of a class, 1 for a class without a number.
func exitCodeOf(c lease.Class) int {
	if code, ok := exitCodes[c]; ok {
		return code
	}
	return exitError
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

func viewOfHolder(h lease.Holder) *holderView {
	return &holderView{
		HolderID: h.ID(), Host: h.Host, User: h.User, UID: h.UID, PID: h.PID,
		Scope: h.Scope, Purpose: h.Purpose, Auto: h.Auto,
	}
}

func viewOfRecord(r *lease.Record) *holderView {
	if r == nil {
		return nil
	}
	v := viewOfHolder(r.Holder())
	at := r.ExpiresAt()
	v.ExpiresAt = &at
	v.FencingToken = r.FencingToken
	return v
}

// failure is how every command ends that does not succeed: what scripts need
// (Code, Class) and what a person needs (Message, Next). It travels over the
// control socket as it is.
type failure struct {
	Code    int         `json:"-"` // 0: the code of the class
	Class   lease.Class `json:"class,omitempty"`
	Message string      `json:"message"`
	File    string      `json:"file,omitempty"`
	Holder  *holderView `json:"holder,omitempty"`
	Next    string      `json:"next,omitempty"`
	Busy    []busyEntry `json:"processes,omitempty"`

	silent bool // nothing is printed: the command of exec has said it, or its code is the message
	answer bool // a daemon said it, over its control socket
	err    error
}

func (f *failure) Error() string {
	if f.Class == "" {
		return f.Message
	}
	return string(f.Class) + ": " + f.Message
}

func (f *failure) Unwrap() error { return f.err }

// exit is the exit code of the failure.
func (f *failure) exit() int {
	if f.Code != 0 {
		return f.Code
	}
	return exitCodeOf(f.Class)
}

func usagef(format string, args ...any) *failure {
	return &failure{Class: classUsage, Message: fmt.Sprintf(format, args...), Next: "see jvsfs --help"}
}

// exitWith ends the program with code and without a word.
func exitWith(code int) *failure { return &failure{Code: code, silent: true} }

// asFailure turns any error into a failure; nil stays nil.
func asFailure(err error) *failure {
	if err == nil {
		return nil
	}
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	var le *lease.Error
	if errors.As(err, &le) {
		return failureOfLease(le)
	}
	var refusal *gate.Refusal
	if errors.As(err, &refusal) {
		return &failure{Class: refusal.Class(), Message: refusal.Sentence(), Next: refusal.Next(), err: err}
	}
	if errors.Is(err, context.Canceled) {
		return &failure{Code: exitSignalBase + int(syscall.SIGINT), Message: "interrupted", err: err}
	}
	return &failure{Message: err.Error(), err: err}
}

func failureOfLease(le *lease.Error) *failure {
	f := &failure{
		Class: le.Class, Message: le.Message, File: le.File,
		Holder: viewOfRecord(le.Holder), Next: le.Next, err: le,
	}
	if f.Message == "" && le.Err != nil {
		f.Message = le.Err.Error()
	} else if le.Err != nil {
		f.Message += ": " + le.Err.Error()
	}
	return f
}

func noProcess(pid int, err error) *failure {
	return &failure{Message: fmt.Sprintf("process %d: %v", pid, err), Next: "name a running process with --pid", err: err}
}

func usageError(err error) *failure {
	return &failure{Class: classUsage, Message: err.Error(), Next: "see jvsfs mount --help", err: err}
}

func busyFailure(point string, who []busyEntry) *failure {
	f := &failure{
		Class: classBusy, Message: fmt.Sprintf("processes keep %s busy", point), Busy: who,
		Next: "end them, or let them leave the directory and close their files, then try again",
	}
	if len(who) > 0 && !slices.ContainsFunc(who, func(e busyEntry) bool { return e.PID != 0 }) {
		f.Message, f.Next = point+" is in use, though by no process", "run what stands beside each, then try again"
	}
	if len(who) == 0 {
		f.Message += ", and none of them can be seen from here (another mount namespace, or a mount on top of it)"
		f.Next = "look for mounts below it: findmnt -R " + point
	}
	return f
}
