package api

import (
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

// EventKind says what happened on a mount. The words are a promise.
type EventKind string

// The kinds that a daemon tells.
const (
	Acquired     EventKind = "acquired"
	Stolen       EventKind = "stolen"
	Lost         EventKind = "lost"
	Refused      EventKind = "refused"
	WouldRefuse  EventKind = "would_refuse"
	ModeSwitched EventKind = "mode_switched"
	Quiesced     EventKind = "quiesced"
	QuiesceEnded EventKind = "quiesce_ended"
)

// The kinds about the lock files of rules (gate/tenure), and maintenance windows.
const (
	RuleBroken     EventKind = "rule_broken"
	RuleHolderGone EventKind = "rule_holder_gone"
	RuleRemoved    EventKind = "rule_lock_removed"
	RuleStays      EventKind = "rule_lock_stays"
	RuleUnknown    EventKind = "rule_holder_unknown"
	RuleBypassed   EventKind = "rule_lock_bypassed"
	WindowOpened   EventKind = "window_opened"
	WindowClosed   EventKind = "window_closed"

	RuleTaken    EventKind = "rule_taken" // these two only with Events.Locks
	RuleReleased EventKind = "rule_released"
)

// The kinds that a daemon tells and that have the name of a loss.
var (
	Released   = EventKind(lease.LossReleased.Name())
	HandedOver = EventKind(lease.LossHandedOver.Name())
	Resumed    = EventKind(lease.LossResumed.Name())
)

// The kinds that the reader finds.
const (
	Missed EventKind = "missed" // events are not known any more
	Silent EventKind = "silent" // the daemon cannot be asked
	Ended  EventKind = "ended"  // the mount is there no more
)

// Replaced says that another daemon goes on, and that nothing was missed.
var Replaced = EventKind(lease.LossReplaced.Name())

// Event is one event of a mount, and a line of `watch --json`; the names are a promise.
type Event struct {
	Kind       EventKind   `json:"event"`
	At         time.Time   `json:"at"`
	Mountpoint string      `json:"mountpoint"`
	Run        string      `json:"run,omitempty"` // of the daemon
	Seq        uint64      `json:"seq,omitempty"` // within the run, from 1
	Worktree   string      `json:"worktree_id,omitempty"`
	Path       string      `json:"path,omitempty"` // of the worktree, the lock file or the window, through the mount
	Token      lease.Token `json:"fencing_token,omitempty"`
	Previous   lease.Token `json:"previous_token,omitempty"` // that ended before, if it was another one

	Holder *gate.HolderView `json:"holder,omitempty"` // who holds, held, or stands in the way
	Before *gate.HolderView `json:"from,omitempty"`   // whose lease it was
	Reason string           `json:"reason,omitempty"`

	Refusal *RefusalView `json:"refusal,omitempty"`

	Quiesced *gate.Quiesced `json:"quiesced,omitempty"`

	Lock   *RuleLock          `json:"lock,omitempty"`
	Window *tenure.WindowView `json:"window,omitempty"`

	Enforce         gate.Enforce `json:"enforce,omitempty"` // of a switch
	EnforcePrevious gate.Enforce `json:"enforce_previous,omitempty"`
	By              string       `json:"enforce_switched_by,omitempty"`

	First       uint64 `json:"first,omitempty"`        // of the events that were missed; 0: not known
	Last        uint64 `json:"last,omitempty"`         // 0: not known
	PreviousRun string `json:"previous_run,omitempty"` // of the daemon before
}

// RuleLock is the lock file that an event is about; the names are a promise.
type RuleLock struct {
	Rule   string `json:"rule"`
	ID     string `json:"id"`
	Lock   string `json:"lock"`             // below the source
	Tenure uint64 `json:"tenure,omitempty"` // 0: nobody was seen to take it
	ByPID  int    `json:"by_pid,omitempty"` // who broke it; 0: nobody, or not seen
}

// Events asks for the events of the mount after one that the client has seen, and waits for some.
type Events struct {
	Run    string `json:"run,omitempty"`     // whose event Since is; "": of the daemon that answers
	Since  uint64 `json:"since,omitempty"`   // the last one that was seen, 0: none
	Latest bool   `json:"latest,omitempty"`  // only what happens from now on
	WaitMS int64  `json:"wait_ms,omitempty"` // how long to wait for the first

	Locks      bool   `json:"locks,omitempty"`       // also the locks that are taken and released
	LocksSince uint64 `json:"locks_since,omitempty"` // of those, as Since
}

// EventsAnswer is the daemon's answer.
type EventsAnswer struct {
	Run    string  `json:"run"`
	Self   string  `json:"self"`            // the daemon's process
	After  string  `json:"after,omitempty"` // the process of the daemon that it replaced, "" for none
	Next   uint64  `json:"next"`            // the Since of the next request
	First  uint64  `json:"first,omitempty"` // the first that the daemon remembers, if it has forgotten what was asked for
	Events []Event `json:"events,omitempty"`
	Over   bool    `json:"over,omitempty"` // this daemon tells nothing more

	Locks       []Event `json:"locks,omitempty"` // that were taken and released, without numbers
	LocksNext   uint64  `json:"locks_next,omitempty"`
	LocksMissed uint64  `json:"locks_missed,omitempty"` // how many are not remembered
}

// MaxEventsWait bounds how long one request for events may wait.
const MaxEventsWait = time.Minute

// Op is the operation's name.
func (Events) Op() string { return "events" }

// Patient is false: the client knows how long it may take.
func (Events) Patient() bool { return false }

// Validate refuses values that no client sends.
func (r Events) Validate() error {
	if r.WaitMS < 0 || r.WaitMS > MaxEventsWait.Milliseconds() {
		return fmt.Errorf("%w: wait of %d ms", ErrRequest, r.WaitMS)
	}
	return atMost("run", r.Run, 64)
}
