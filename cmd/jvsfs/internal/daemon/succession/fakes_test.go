package succession

import (
	"context"
	"fmt"

	"github.com/jvsfs/jvsfs/lease"
)

// said is what was asked of the other parts, in order.
type said []string

func (s *said) note(format string, a ...any) { *s = append(*s, fmt.Sprintf(format, a...)) }

// leases are those of a mount that has none but what it is asked to take.
type leases struct {
	said
	held    map[lease.WorktreeID]lease.Saved // what it says it holds
	lead    func(lease.WorktreeID) lease.Lead
	ended   bool
	failure error // of Join and Follow
}

func (l *leases) Join(_ context.Context, held map[lease.WorktreeID]lease.Saved) error {
	l.note("join %d", len(held))
	return l.failure
}

func (l *leases) Adopt(_ context.Context, held map[lease.WorktreeID]lease.Saved) {
	l.note("adopt %d", len(held))
}

func (l *leases) Revoke(lost map[lease.WorktreeID][]lease.Loss) {
	for id, list := range lost {
		l.note("revoke %s %s", id, list[0].Kind.Name())
	}
}

func (l *leases) Follow(_ context.Context, lead func(lease.WorktreeID) lease.Lead) (map[lease.WorktreeID]lease.Saved, error) {
	l.note("follow")
	l.lead = lead
	return l.held, l.failure
}

func (l *leases) Resume()       { l.note("resume") }
func (l *leases) Part()         { l.note("part") }
func (l *leases) Close() error  { l.note("close"); return nil }
func (l *leases) Shut(error)    { l.note("shut") }
func (l *leases) Open()         { l.note("open") }
func (l *leases) TellReplaced() { l.note("tell") }
func (l *leases) Ended() bool   { return l.ended }

// rules are a book, its tenures, the door of the file system, and the lock on the tree.
type rules struct {
	*said
	inFlight error // of what rules cover
}

func (r rules) ShutRules(context.Context) error { r.note("shut rules"); return r.inFlight }
func (r rules) OpenRules()                      { r.note("open rules") }
func (r rules) LeaveRules()                     { r.note("leave the door shut") }
func (r rules) Follow() error                   { r.note("follow in rules"); return nil }
func (r rules) TakeBack()                       { r.note("take rules back") }
func (r rules) GiveUp(id string)                { r.note("give up %s", id) }
func (r rules) Leave() error                    { r.note("leave tenures"); return nil }

// Called calls one lock in.
func (r rules) Called(_ context.Context, calls func(string)) error { calls("a lock"); return nil }

type tree struct{ *said }

func (t tree) LeaveRules() error { t.note("leave the tree"); return nil }

// kernel is a file system on a kernel that may put nothing beneath a mount.
type kernel struct {
	said
	attached bool
	failure  error
}

func (k *kernel) Attach() error           { k.note("attach"); return k.failure }
func (k *kernel) AttachBeneath(int) error { k.note("beneath"); return k.failure }
func (k *kernel) AttachOver(int) error    { k.note("over"); return nil }
func (k *kernel) Attached() bool          { return k.attached }
func (k *kernel) Discard()                { k.note("discard") }
func (k *kernel) Abort() error            { k.note("abort"); return nil }

type state struct{ *said }

func (s state) Forget() error       { s.note("forget"); return nil }
func (s state) StoreMounts() string { return "" }
