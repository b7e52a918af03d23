package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// A mount may be replaced again while files are still open through the daemon before the last. All of its daemons then follow the newest one:
// its journal says instead of whom it leads, and is found by that when the journal of the daemon between has gone.

// succeed notes whom this daemon leads from now on: the one that it replaces, and those that follow that one. Call it before the old
// daemon's journal is removed.
func (d *succession) succeed(left journal.File) {
	instead := slices.DeleteFunc(append([]host.ProcessState{left.Daemon}, left.Instead...), func(p host.ProcessState) bool { return p.Liveness() == lease.Gone })
	d.journal.Change(func(f *journal.File) { f.Instead = instead })
}

// awaitPredecessor waits for the end of the daemons that this one has replaced. After that the holders write
// only here.
func (d *succession) awaitPredecessor(ctx context.Context) {
	for left := d.predecessors(); len(left) > 0; left = d.predecessors() {
		if !d.awaitEnd(ctx, left[0]) {
			return
		}
	}
	d.accompany(false)
	if d.retirement.underWay() { // meanwhile this one follows another
		d.accompany(true)
	}
}

const (
	// unwatchedLook is between two looks for the end of a process of which the kernel does not tell here.
	unwatchedLook = time.Second
	// watchedLook is the same where it does. A watch that could not begin, or whose set has failed, tells nothing.
	watchedLook = 30 * time.Second
)

// awaitEnd waits until a daemon has ended, or may have. It is false if ctx has.
func (d *succession) awaitEnd(ctx context.Context, p host.ProcessState) bool {
	ended := make(chan struct{}, 1)
	w := d.resolver.Watch(process.ID{PID: p.PID, Start: p.Start}, d.exits, func() { ended <- struct{}{} }) // called once
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

func (d *succession) accompany(on bool) {
	for _, w := range d.registry.all() {
		w.guard.Overlap(on)
	}
}

// predecessorStays refuses an operation while a replaced daemon still lives. That daemon judges writes
// through its open files by itself, under the same lease.
func (d *succession) predecessorStays(what string) *api.Failure {
	pid := d.replaced.Daemon.PID
	if living := d.predecessors(); len(living) > 0 {
		pid = living[0].PID
	}
	return &api.Failure{
		Class: api.ClassBusy, Message: fmt.Sprintf("%s while files are open through the daemon that was replaced (process %d)", what, pid),
		Next: fmt.Sprintf("let those who have them close them, or end the process (kill -TERM %d): they are cut off then", pid),
	}
}

// heldByPredecessor reports whether files may still be open through a daemon that this one has replaced. Then
// an automatic lease is not idle.
func (d *succession) heldByPredecessor() bool { return len(d.predecessors()) > 0 }

// predecessors are the replaced daemons that still live. Safe for concurrent use.
func (d *succession) predecessors() []host.ProcessState {
	if d.replaced == nil {
		return nil
	}
	all := append([]host.ProcessState{d.replaced.Daemon}, d.journal.Instead()...)
	return slices.DeleteFunc(all, func(p host.ProcessState) bool { return p.Liveness() == lease.Gone })
}

// after names the daemon that this one has replaced, "" if it has replaced none.
func (d *succession) after() string {
	if d.replaced == nil {
		return ""
	}
	return processText(d.replaced.Daemon, nil)
}

// processText tells one daemon from another.
func processText(p host.ProcessState, err error) string {
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", p.PID, p.Start)
}
