//go:build jvsfs_torture

// Package wire puts the enemy into the failpoints of the rooms. Its build tag keeps it out of every other build.
package wire

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/integration/torture/inject"
	"github.com/jvsfs/jvsfs/integration/torture/plan"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Up is called before anything is opened. In a process that nobody tortures it does nothing.
func Up() {
	if !inject.Tortured() {
		return
	}
	lease.Inject(lease.Failpoints{
		Point: inject.Point, Change: inject.Disk, Look: inject.Look, Open: inject.Open, Flock: flock,
		Clock:    func(c lease.Clock) lease.Clock { return wrongClock{c} },
		Remote:   inject.Lacks(plan.LocalDisk),
		Claiming: func(r *record.Record) { mark(plan.KindGate, r) },
		Claimed:  func(r *record.Record) { mark(plan.KindBegin, r) },
	})
	fusefs.InjectAdmitted(func(op gate.Op, id lease.WorktreeID, token lease.Token) {
		inject.Held("admitted."+op.String(), string(id), uint64(token))
	})
}

// flock takes no lock at all where there is no lock manager.
func flock(fd, how int) error {
	if inject.Lacks(plan.LockManager) {
		return nil
	}
	return unix.Flock(fd, how)
}

// wrongClock is the clock of a host under torture.
type wrongClock struct{ lease.Clock }

func (c wrongClock) Wall() time.Time     { return inject.Wall(c.Clock.Wall()) }
func (c wrongClock) Boot() time.Duration { return inject.Boot(c.Clock.Boot()) }

func mark(kind byte, r *record.Record) {
	inject.Mark(kind, string(r.WorktreeID), uint64(r.FencingToken), r.Holder().PID)
}
