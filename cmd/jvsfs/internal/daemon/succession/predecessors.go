package succession

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// A mount may be replaced again while files are still open through the daemon before the last. All of its daemons then follow the newest one:
// its journal says instead of whom it leads, and is found by that when the journal of the daemon between has gone.

// Predecessors are the daemons that this one has replaced. They live while files are open through them, and judge writes to those by
// themselves, under the same leases.
type Predecessors struct {
	Journal  *journal.Journal
	Resolver *gate.Resolver
	Exits    *process.ExitWatch
	Overlap  func(on bool) // whether holders may write through another daemon, too

	replaced *host.ProcessState // nil for none
}

// succeed notes whom this daemon leads from now on: the one that it replaces, and those that follow that one. Call it before the old
// daemon's journal is removed.
func (d *Predecessors) succeed(left journal.File) {
	instead := slices.DeleteFunc(append([]host.ProcessState{left.Daemon}, left.Instead...), func(p host.ProcessState) bool { return p.Liveness() == lease.Gone })
	d.Journal.Change(func(f *journal.File) { f.Instead = instead })
}

// Await waits for the end of all of them. After that the holders write only here, unless this daemon follows another one by then.
func (d *Predecessors) Await(ctx context.Context, follows func() bool) {
	if d.replaced == nil {
		return
	}
	for left := d.living(); len(left) > 0; left = d.living() {
		if !d.awaitEnd(ctx, left[0]) {
			return
		}
	}
	d.Overlap(false)
	if follows() {
		d.Overlap(true)
	}
}

const (
	// unwatchedLook is between two looks for the end of a process of which the kernel does not tell here.
	unwatchedLook = time.Second
	// watchedLook is the same where it does. A watch that could not begin, or whose set has failed, tells nothing.
	watchedLook = 30 * time.Second
)

// awaitEnd waits until a daemon has ended, or may have. It is false if ctx has.
func (d *Predecessors) awaitEnd(ctx context.Context, p host.ProcessState) bool {
	ended := make(chan struct{}, 1)
	w := d.Resolver.Watch(process.ID{PID: p.PID, Start: p.Start}, d.Exits, func() { ended <- struct{}{} }) // called once
	defer w.Close()
	pause := watchedLook
	if !w.Runs() || p.Liveness() == lease.Unknown { // the number may mean another process here
		pause = unwatchedLook
	}
	select {
	case <-ctx.Done():
		return false
	case <-ended:
	case <-time.After(pause):
	}
	return true
}

// Refuse refuses an operation while one of them lives.
func (d *Predecessors) Refuse(what string) *api.Failure {
	pid := d.replaced.PID
	if living := d.living(); len(living) > 0 {
		pid = living[0].PID
	}
	return &api.Failure{
		Class: api.ClassBusy, Message: fmt.Sprintf("%s while files are open through the daemon that was replaced (process %d)", what, pid),
		Next: fmt.Sprintf("let those who have them close them, or end the process (kill -TERM %d): they are cut off then", pid),
	}
}

// Live reports whether files may still be open through one of them. Then an automatic lease is not idle.
func (d *Predecessors) Live() bool { return len(d.living()) > 0 }

// living are those that still live. Safe for concurrent use.
func (d *Predecessors) living() []host.ProcessState {
	if d.replaced == nil {
		return nil
	}
	all := append([]host.ProcessState{*d.replaced}, d.Journal.Instead()...)
	return slices.DeleteFunc(all, func(p host.ProcessState) bool { return p.Liveness() == lease.Gone })
}

// After names the daemon that this one has replaced, "" if it has replaced none.
func (d *Predecessors) After() string {
	if d.replaced == nil {
		return ""
	}
	return ProcessText(*d.replaced, nil)
}

// ProcessText tells one daemon from another.
func ProcessText(p host.ProcessState, err error) string {
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", p.PID, p.Start)
}
