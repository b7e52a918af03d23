package journal

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Journal is a file for the next daemon after a kill: the leases that this daemon holds, and the holders that
// are out because they lost one. It may be older than the truth, but is never ahead of it. Safe for concurrent
// use.
type Journal struct {
	log *zap.Logger

	mu   sync.Mutex
	path string // "" before that
	all  File
}

// File is the form on file.
type File struct {
	Version int                                  `json:"version"`
	Daemon  host.ProcessState                    `json:"daemon"`
	Store   string                               `json:"store,omitempty"` // see storewatch.MountsOf; "": on a disk of this host, or written by a release without it
	Held    map[lease.WorktreeID]lease.Saved     `json:"held,omitempty"`
	Revoked map[lease.WorktreeID][]RevokedHolder `json:"revoked,omitempty"`
	Instead []host.ProcessState                  `json:"instead,omitempty"` // the daemons that follow this one: it has replaced them, or those that had
}

// RevokedHolder lost a lease by expiry or theft, and stays out until it acquires again.
type RevokedHolder struct {
	Token  lease.Token    `json:"fencing_token"`
	Kind   lease.LossKind `json:"kind"`
	Holder lease.Holder   `json:"holder"`
}

// revokedKept bounds the number of revoked holders of one worktree. The oldest is forgotten first.
const revokedKept = 64

// New is a journal that is not written yet: see Begin.
func New(log *zap.Logger) *Journal {
	return &Journal{log: log, all: File{Version: host.StateVersion,
		Held: map[lease.WorktreeID]lease.Saved{}, Revoked: map[lease.WorktreeID][]RevokedHolder{}}}
}

// Begin starts writing, as the journal of a device.
func (j *Journal) Begin(d api.Device, who host.ProcessState, store string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.path, j.all.Daemon, j.all.Store = host.LeasesPath(d), who, store
	return host.WriteState(j.path, j.all)
}

// Change changes the entries and writes them. If the journal cannot be written, the next recovery loses leases,
// and nothing else happens.
func (j *Journal) Change(f func(*File)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f(&j.all)
	if j.path == "" {
		return
	}
	if err := host.WriteState(j.path, j.all); err != nil {
		j.log.Warn("journal of leases", zap.Error(err))
	}
}

// Pause stops writing until goOn is called. It may never be called.
func (j *Journal) Pause() (goOn func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	path := j.path
	j.path = ""
	return func() {
		j.mu.Lock()
		j.path = path
		j.mu.Unlock()
		j.Change(func(*File) {})
	}
}

// End stops writing. Later changes are not for the next daemon.
func (j *Journal) End() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.path = ""
}

// Restore takes over the entries of a daemon that has ended. So they are not lost if this daemon is killed
// before it has adopted them.
func (j *Journal) Restore(from File) {
	j.Change(func(f *File) {
		for id, b := range from.Held {
			if b.Boot >= f.Held[id].Boot { // the later of two daemons is right
				f.Held[id] = b
			}
		}
		for id, list := range from.Revoked {
			f.Revoked[id] = list
		}
	})
}

// Expired is f after all its leases have run out.
func (f File) Expired() File {
	f.Revoked = maps.Clone(f.Revoked)
	if f.Revoked == nil {
		f.Revoked = map[lease.WorktreeID][]RevokedHolder{}
	}
	for id, b := range f.Held {
		f.Revoked[id] = append(slices.Clone(f.Revoked[id]), RevokedHolder{b.Token, lease.LossExpired, b.Holder})
	}
	f.Held = map[lease.WorktreeID]lease.Saved{}
	return f
}

// Entries are the current entries.
func (j *Journal) Entries() File {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := j.all
	f.Held, f.Revoked = maps.Clone(f.Held), maps.Clone(f.Revoked)
	return f
}

// Instead are the daemons that follow this one.
func (j *Journal) Instead() []host.ProcessState {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all.Instead
}

// Admit forgets that a holder was revoked: it acquired on purpose.
func (j *Journal) Admit(id lease.WorktreeID, h lease.Holder) {
	j.mu.Lock()
	none := len(j.all.Revoked[id]) == 0
	j.mu.Unlock()
	if none {
		return
	}
	j.Change(func(f *File) {
		var kept []RevokedHolder
		for _, r := range f.Revoked[id] {
			if r.Holder.BootID != h.BootID || r.Holder.PID != h.PID || r.Holder.StartTime != h.StartTime || r.Holder.ScopeKey != h.ScopeKey {
				kept = append(kept, r)
			}
		}
		f.Revoked[id] = kept
	})
}

// Fenced is a fence that notes each step of inner in the journal.
func (j *Journal) Fenced(inner lease.Fence, id lease.WorktreeID) lease.Fence {
	return fence{inner, j, id}
}

// fence is a fence that notes each step in the journal, after the step.
type fence struct {
	lease.Fence
	journal *Journal
	id      lease.WorktreeID
}

// Open opens the inner fence, then notes the lease.
func (f fence) Open(g lease.Grant) {
	f.Fence.Open(g)
	b := lease.Save(g, lease.SystemClock())
	f.journal.Change(func(all *File) {
		all.Held[f.id] = b
		if list := all.Revoked[f.id]; len(list) > 0 {
			all.Revoked[f.id] = slices.DeleteFunc(slices.Clone(list), func(r RevokedHolder) bool { return g.Covers(r.Token) }) // it goes on after a pause
		}
	})
}

// Extend is like Open, with a later deadline.
func (f fence) Extend(t lease.Token, deadline time.Duration) {
	f.Fence.Extend(t, deadline)
	f.journal.Change(func(all *File) {
		if b, ok := all.Held[f.id]; ok && b.Token == t {
			all.Held[f.id] = b.Extended(deadline, lease.SystemClock())
		}
	})
}

// Close closes the inner fence, then notes that the lease is over, and who is out.
func (f fence) Close(l lease.Loss) {
	f.Fence.Close(l)
	f.journal.Change(func(all *File) {
		delete(all.Held, f.id)
		if l.Kind == lease.LossPaused { // for the next daemon it is over
			l.Kind = lease.LossExpired
		}
		if l.Kind == lease.LossExpired || l.Kind == lease.LossSuperseded {
			list := append(all.Revoked[f.id], RevokedHolder{l.Token, l.Kind, l.Holder})
			all.Revoked[f.id] = list[max(0, len(list)-revokedKept):]
		}
	})
}

// Read reads the journal of a device whose daemon has ended, if its times are of this boot and this time
// namespace.
func Read(d api.Device) (File, error) { return ReadAt(host.LeasesPath(d)) }

// ReadAt is Read for the file at path.
func ReadAt(path string) (File, error) {
	var f File
	if err := host.ReadState(path, &f); err != nil {
		return f, err
	}
	switch {
	case f.Version != host.StateVersion:
		return f, fmt.Errorf("%s is of another release of jvsfs", path)
	case !f.Daemon.SameClock():
		return f, fmt.Errorf("%s was written before a reboot or by another clock", path)
	}
	for id := range f.Held {
		if _, err := record.ParseWorktreeID(string(id)); err != nil {
			return f, err
		}
	}
	return f, nil
}
