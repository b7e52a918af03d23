package api

import (
	"errors"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// Body is the request of one operation. Each operation has a type. The table of package daemon (operations.go)
// has the handlers.
type Body interface {
	Op() string      // the name of the operation
	Validate() error // nothing in it is trusted
}

// Patient is a request whose answer may take any time. A client sends a ping first, to detect a stopped daemon.
type Patient interface{ Patient() bool }

// Process is the process that a request means. Its descriptor may come with the request.
type Process struct {
	PID      int    `json:"pid,omitempty"`      // in the client's pid namespace
	Start    uint64 `json:"start,omitempty"`    // its start time (field 22 of /proc/PID/stat), 0 = not known
	Explicit bool   `json:"explicit,omitempty"` // it was named on purpose
}

// Where is a path below the root of the mount.
type Where struct {
	Path string `json:"path,omitempty"`
}

// In is the path, by which the daemon finds the worktree.
func (w Where) In() string { return w.Path }

// Taking has the fields of all requests that take a lease.
type Taking struct {
	Where
	Process
	Scope   string `json:"scope,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	WaitMS  int64  `json:"wait_ms,omitempty"` // how long to wait for the lease
}

// Holding has the fields of all requests about a lease that is held.
type Holding struct {
	Where
	Process
	Token lease.Token `json:"fencing_token,omitempty"` // only this lease, 0 = the current one
}

// The requests.
type (
	// Ping asks whether the daemon answers.
	Ping struct{}
	// Status asks for the status of the mount.
	Status struct{}
	// Metrics asks for the metrics of the mount.
	Metrics struct{}
	// Config asks for the configuration of the mount.
	Config struct{}
	// Doctor asks the daemon to check its lock directory.
	Doctor struct {
		Repair bool `json:"repair,omitempty"` // repair what is provably safe
		Force  bool `json:"force,omitempty"`  // repair the rest, too
	}
	// Unmount unmounts. It names the mount that the client means, as the client sees it.
	Unmount struct {
		Mount      int    `json:"mount,omitempty"` // its number in mountinfo
		Mountpoint string `json:"mountpoint,omitempty"`
	}
	// Leave unmounts a mount that was made for runs, if the last of them has ended.
	Leave struct{}
	// Enforce asks for the mode, or switches it.
	Enforce struct {
		Mode   string `json:"mode,omitempty"`    // what to switch to, "" asks for the one of now
		WaitMS int64  `json:"wait_ms,omitempty"` // for writes in flight
	}
	// Refusals asks for recent refusals: of a process and its descendants.
	Refusals struct {
		Where
		Process
		SinceMS int64 `json:"since_ms,omitempty"` // how far back
		Session bool  `json:"session,omitempty"`  // also those of the process's session
		Stands  bool  `json:"stands,omitempty"`   // the process uses the mount, at Path: say where it may write
	}
	// BreakRule takes the lock file of a rule from its holder.
	BreakRule struct {
		Where
		Instance string `json:"instance"`         // of the rule, as it was looked at
		Tenure   uint64 `json:"tenure,omitempty"` // only this one, 0 = the current one
	}
	// Explain asks whether a process may write.
	Explain struct {
		Where
		Process
	}
	// Acquire takes the lease for a process.
	Acquire struct {
		Taking
		Steal bool `json:"steal,omitempty"` // an expired lease may be stolen
		Watch bool `json:"watch,omitempty"` // keep the connection and report the loss
	}
	// Steal takes an expired lease over.
	Steal struct {
		Taking
		Force bool        `json:"force,omitempty"`         // end the daemon that keeps the gate
		Token lease.Token `json:"fencing_token,omitempty"` // only this lease, 0 = the current one
	}
	// Renew renews the lease now.
	Renew struct{ Holding }
	// Release gives the lease back.
	Release struct{ Holding }
	// Watch reports the loss of a lease that is held.
	Watch struct{ Holding }
	// LookAtLock asks for the lease and its record.
	LookAtLock struct {
		Where
		Process
	}
	// Handover gives the lease to another process, or to another host.
	Handover struct {
		Taking
		Host string `json:"host,omitempty"` // to the first who acquires there, instead of to a process
	}
	// Retire is the first step of replacing a daemon: it tells what it holds, and follows.
	Retire struct{ Successor }
	// Retired is the second step: the new mount is in place.
	Retired struct{ Successor }
)

// Successor names the mount that takes another one's place.
type Successor struct {
	Device string `json:"device,omitempty"`
}

// The names of the operations.

// Op is the operation's name.
func (Ping) Op() string { return "ping" }

// Op is the operation's name.
func (Status) Op() string { return "status" }

// Op is the operation's name.
func (Metrics) Op() string { return "metrics" }

// Op is the operation's name.
func (Config) Op() string { return "config" }

// Op is the operation's name.
func (Doctor) Op() string { return "doctor" }

// Op is the operation's name.
func (Unmount) Op() string { return "umount" }

// Op is the operation's name.
func (Leave) Op() string { return "leave" }

// Op is the operation's name.
func (Enforce) Op() string { return "enforce" }

// Op is the operation's name.
func (Refusals) Op() string { return "refusals" }

// Op is the operation's name.
func (Explain) Op() string { return "explain" }

// Op is the operation's name.
func (BreakRule) Op() string { return "rule_break" }

// Patient is true: it drains.
func (BreakRule) Patient() bool { return true }

// Op is the operation's name.
func (Acquire) Op() string { return "acquire" }

// Op is the operation's name.
func (Steal) Op() string { return "steal" }

// Op is the operation's name.
func (Renew) Op() string { return "renew" }

// Op is the operation's name.
func (Release) Op() string { return "release" }

// Op is the operation's name.
func (Watch) Op() string { return "watch" }

// Op is the operation's name.
func (LookAtLock) Op() string { return "lock_status" }

// Op is the operation's name.
func (Handover) Op() string { return "handover" }

// Op is the operation's name.
func (Retire) Op() string { return "retire" }

// Op is the operation's name.
func (Retired) Op() string { return "retired" }

// Patient reports whether it waits for a lease.
func (r Acquire) Patient() bool { return r.WaitMS > 0 || r.Steal }

// Patient is true: it drains.
func (Steal) Patient() bool { return true }

// Patient is true: it drains.
func (Release) Patient() bool { return true }

// Patient is true: it drains.
func (Unmount) Patient() bool { return true }

// Patient is true: it drains.
func (Leave) Patient() bool { return true }

// Asks reports whether the request changes nothing. Anybody may send such a request.
func (r Enforce) Asks() bool { return r.Mode == "" }

// Patient reports whether it waits for writes in flight.
func (r Enforce) Patient() bool { return r.WaitMS > 0 }

// Patient reports whether it waits for writes in flight.
func (r Handover) Patient() bool { return r.WaitMS > 0 }

// MaxWait bounds how long one request may wait for a lease.
const MaxWait = 366 * 24 * time.Hour

// Validate has nothing to refuse: there are no fields.
func (Ping) Validate() error { return nil }

// Validate has nothing to refuse: there are no fields.
func (Status) Validate() error { return nil }

// Validate has nothing to refuse: there are no fields.
func (Metrics) Validate() error { return nil }

// Validate has nothing to refuse: there are no fields.
func (Config) Validate() error { return nil }

// Validate of two switches has nothing to refuse.
func (Doctor) Validate() error { return nil }

// Validate refuses values that no client sends.
func (r Unmount) Validate() error { return atMost("mountpoint", r.Mountpoint, 4096) }

// Validate has nothing to refuse: there are no fields.
func (Leave) Validate() error { return nil }

// Validate refuses an unknown mode.
func (r Enforce) Validate() error {
	if r.Mode != "" {
		if _, err := gate.ParseEnforce(r.Mode); err != nil {
			return fmt.Errorf("%w: %w", ErrRequest, err)
		}
	}
	return milliseconds("wait", r.WaitMS)
}

// Validate refuses values that no client sends.
func (r Refusals) Validate() error {
	return errors.Join(r.Where.Validate(), r.Process.Validate(), milliseconds("refusals", r.SinceMS))
}

// Validate refuses values that no client sends.
func (r Explain) Validate() error { return errors.Join(r.Where.Validate(), r.Process.Validate()) }

// Validate refuses values that no client sends.
func (r BreakRule) Validate() error {
	return errors.Join(r.Where.Validate(), atMost("instance", r.Instance, 8192))
}

// Validate refuses values that no client sends.
func (r LookAtLock) Validate() error { return errors.Join(r.Where.Validate(), r.Process.Validate()) }

// Validate refuses values that no client sends.
func (r Taking) Validate() error {
	return errors.Join(r.Where.Validate(), r.Process.Validate(), milliseconds("wait", r.WaitMS),
		atMost("scope", r.Scope, 64), atMost("purpose", r.Purpose, 1024))
}

// Validate refuses values that no client sends.
func (r Holding) Validate() error { return errors.Join(r.Where.Validate(), r.Process.Validate()) }

// Validate refuses values that no client sends.
func (r Handover) Validate() error {
	return errors.Join(r.Taking.Validate(), atMost("host", r.Host, 255))
}

// Validate refuses values that no client sends.
func (r Successor) Validate() error { return atMost("device", r.Device, 64) }

// MaxPID is PID_MAX_LIMIT of the kernel.
const MaxPID = 1 << 22

// Validate refuses a number that no process has.
func (p Process) Validate() error {
	if p.PID < 0 || p.PID > MaxPID {
		return fmt.Errorf("%w: pid %d", ErrRequest, p.PID)
	}
	return nil
}

// Validate refuses a path that could leave the mount.
func (w Where) Validate() error {
	if !cleanRelative(w.Path) {
		return fmt.Errorf("%w: path %q is not a clean relative path", ErrRequest, w.Path)
	}
	return atMost("path", w.Path, 4096)
}

func atMost(what, value string, most int) error {
	if len(value) > most {
		return fmt.Errorf("%w: %s is too long", ErrRequest, what)
	}
	return nil
}

func milliseconds(what string, ms int64) error {
	if ms < 0 || ms > MaxWait.Milliseconds() {
		return fmt.Errorf("%w: %s of %d ms", ErrRequest, what, ms)
	}
	return nil
}
