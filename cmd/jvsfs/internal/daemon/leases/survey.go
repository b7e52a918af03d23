package leases

import (
	"errors"
	"sort"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// Survey looks at the leases of all worktrees, and does not wait long where the records may not answer.
type Survey struct {
	all         func() []*Worktree
	far         bool // the records are on another machine, which may hang
	asks        storeAsks
	authority   string                       // who keeps the leases, for people; "" where the records do
	lookForRoot func(lease.WorktreeID) error // nil if the directory of a worktree exists
}

// NewSurvey looks at what all lists.
func NewSurvey(all func() []*Worktree, far bool, authority string, lookForRoot func(lease.WorktreeID) error) *Survey {
	return &Survey{all: all, far: far, asks: make(storeAsks, mostStoreAsks), authority: authority, lookForRoot: lookForRoot}
}

// Far reports whether the records are on another machine, which may hang.
func (d *Survey) Far() bool { return d.far }

// Surveyed is a worktree and its status at one moment.
type Surveyed struct {
	*Worktree
	Status gate.Status
}

// Look looks at all worktrees, in the order of their names. It separates those that are over: where builds
// make and remove worktrees, reports would grow as long as the mount lives. Their guards stay, because open
// files and calls in flight use them, and because a name that comes back continues its tokens.
func (d *Survey) Look() (there []Surveyed, over map[lease.WorktreeID]bool) {
	over = map[lease.WorktreeID]bool{}
	all := d.all()
	late := d.LookAll(all)
	for _, w := range all {
		if st, isOver := d.statusOf(w, late[w]); isOver {
			over[w.ID] = true
		} else {
			there = append(there, Surveyed{w, st})
		}
	}
	sort.Slice(there, func(i, j int) bool { return there[i].ID < there[j].ID })
	return there, over
}

// statusOf is the status of a worktree, and whether it is over. It waits for no file system but this machine's own.
func (d *Survey) statusOf(w *Worktree, late bool) (st gate.Status, over bool) {
	if d.far {
		return w.cachedStatus(late)
	}
	st = w.Guard.Status()
	return st, d.isOver(st)
}

// isOver reports whether a worktree is removed, held by nobody, and has nothing in flight.
func (d *Survey) isOver(st gate.Status) bool {
	if st.State != api.StateFree || st.InFlight > 0 || st.WriteHandles > 0 {
		return false
	}
	err := d.lookForRoot(st.Worktree)
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
}

// Readings are what metrics tell of the worktrees, and which are over.
func (d *Survey) Readings() (all []metrics.WorktreeReading, over map[lease.WorktreeID]bool) {
	there, over := d.Look()
	for _, w := range there {
		all = append(all, w.reading(w.Status, d.far))
	}
	return all, over
}

func (w *Worktree) reading(st gate.Status, far bool) metrics.WorktreeReading {
	r := metrics.WorktreeReading{Status: st, Waiters: w.Guard.Queue().Waiting(), Counts: w.Counts.Now()}
	if far {
		if seen, _ := w.cache.last(); seen.head.Record != nil && !seen.head.Record.Released {
			r.Created = seen.head.Record.CreatedAt
		}
	} else if head, j := w.Keeper.Observe(); head.Record != nil && j.State != lease.Free {
		r.Created = head.Record.CreatedAt
	}
	return r
}
