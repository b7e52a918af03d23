package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

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
func ViewOfRecord(r *record.Record) *holderView {
	if r == nil {
		return nil
	}
	v := ViewOfHolder(r.Holder())
	at := r.ExpiresAt()
	v.ExpiresAt = &at
	v.FencingToken = r.FencingToken
	return v
}

// Failure is the result of a command that does not succeed. Code and Class are for scripts, Message and Next
// for people. It travels over the control socket as it is.
type Failure struct {
	Code    ExitCode    `json:"-"` // 0: the code of the class
	Class   lease.Class `json:"class,omitempty"`
	Message string      `json:"message"`
	File    string      `json:"file,omitempty"`
	Holder  *holderView `json:"holder,omitempty"`
	Next    string      `json:"next,omitempty"`
	Busy    []BusyEntry `json:"processes,omitempty"`

	Signal syscall.Signal `json:"-"` // by which the program ends itself instead of exiting, if not 0

	silent bool  // print nothing: the command has said it already, or the code says all
	Answer bool  `json:"-"` // it came from a daemon, over its control socket
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
func (f *Failure) Exit() ExitCode {
	if f.Code != 0 {
		return f.Code
	}
	return ExitCodeOf(f.Class)
}

// Usagef is the failure of a command line or a request that cannot be carried out as it stands. What to do next
// is in the help of the command.
func Usagef(format string, args ...any) *Failure {
	return &Failure{Class: ClassUsage, Message: fmt.Sprintf(format, args...)}
}

// ExitWith ends the program with code and prints nothing.
func ExitWith(code ExitCode) *Failure { return &Failure{Code: code, silent: true} }

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
		return &Failure{Code: ExitInterrupted, Message: "interrupted", Err: err}
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

// NoProcess says why a process that was named cannot be used.
func NoProcess(pid int, err error) *Failure {
	f := &Failure{Message: fmt.Sprintf("process %d: %v", pid, err), Next: "name a running process: $$ is this shell, ps lists others", Err: err}
	if errors.Is(err, syscall.ESRCH) {
		f.Message = fmt.Sprintf("there is no process %d", pid)
	}
	return f
}

// NoPath is the failure of a path that was named and cannot be looked at. err says why not.
func NoPath(path string, err error) error {
	if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return &Failure{Class: ClassUsage, Message: path + ": no such file or directory", Next: "look at how it is spelled; jvsfs status lists the mounts", Err: err}
}

// NoDirectory is the failure of a path where a directory is wanted.
func NoDirectory(path string) error {
	return &Failure{Class: ClassUsage, Message: path + " is not a directory", Next: "name the directory that is to have one writer"}
}

// UsageError is the failure of a configuration.
func UsageError(err error) *Failure {
	return &Failure{Class: ClassUsage, Message: err.Error(), Err: err}
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
