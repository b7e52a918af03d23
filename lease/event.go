package lease

import "time"

// EventKind is what happened to a lease, in the words of the audit log.
type EventKind string

// The kinds of event.
const (
	EventAcquire     EventKind = "acquire"
	EventSteal       EventKind = "steal"
	EventHandover    EventKind = "handover"
	EventResume      EventKind = "resume"
	EventRelease     EventKind = "release"
	EventExpire      EventKind = "expire"
	EventSuperseded  EventKind = "superseded"
	EventRenewFailed EventKind = "renew_failed"
	EventLateWrite   EventKind = "late_write"
	EventFence       EventKind = "fence" // another host is about to be cut off the store (rule 17)
	EventFenced      EventKind = "fenced"
	EventFenceFailed EventKind = "fence_failed"
)

// Event is one entry for the audit log.
type Event struct {
	Kind            EventKind
	Worktree        WorktreeID
	Token, Previous Token
	Holder          Holder
	From            Holder // of a handover: who held before; of a fence: whose host is cut off
	Client          string // of a fence: what the store calls that host's client
	Reason          string
	Unclean         bool // taken over without proof that the old holder was drained
	Fenced          bool // taken over after its host was cut off the store (rule 17)
	At              time.Time
}
