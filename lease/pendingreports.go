package lease

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// pendingMost bounds what a store that never answers again costs.
	pendingMost = 1024
	// The pauses between two tries. Each of them is an error in the daemon's log.
	pendingFirst, pendingLast = time.Second, 32 * time.Second
)

// lateReport is a late write, and what has been told of it.
type lateReport struct {
	write         LateWrite
	event         Event
	tainted, told bool
}

// tell leaves the taint and the event, as far as they are not there.
func (r *lateReport) tell(k *Keeper) error {
	var errs [2]error
	if !r.tainted {
		errs[0] = k.store.taint(r.write)
		r.tainted = errs[0] == nil
	}
	if !r.told {
		errs[1] = k.tell.Now(r.event)
		r.told = errs[1] == nil
	}
	return errors.Join(errs[:]...)
}

// pendingReports owns the late writes that could not be told. A write is late because its host was cut off the store for some time, so most often
// the store does not take the report either: mfsmount, whose session has run out, needs a moment to get another one.
type pendingReports struct {
	mu      sync.Mutex // never held across I/O
	reports []*lateReport
	pause   time.Duration
	next    time.Duration // boot clock
	missed  int           // that there was no room for
}

func (u *pendingReports) keep(r *lateReport) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.reports) >= pendingMost {
		u.missed++
		return
	}
	u.reports = append(u.reports, r)
}

// due takes the reports if it is time to try again.
func (u *pendingReports) due(now time.Duration) []*lateReport {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now < u.next {
		return nil
	}
	all := u.reports
	u.reports = nil
	return all
}

// wait is how long nothing is to be told again.
func (u *pendingReports) wait(now time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.reports) == 0 {
		return time.Hour
	}
	return max(u.next-now, 0)
}

// back returns the reports that could not be told.
func (u *pendingReports) back(rest []*lateReport, now time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pause = min(max(2*u.pause, pendingFirst), pendingLast)
	u.next = now + u.pause
	if len(rest) == 0 {
		u.pause, u.next = 0, 0
	}
	u.reports = append(slices.Clip(rest), u.reports...)
}

// tellAgain tells what could not be told. It stops at the first that still cannot. Only with op, so that the order stays.
func (k *Keeper) tellAgain() {
	all := k.pending.due(k.cfg.Clock.Boot())
	for i, r := range all {
		if r.tell(k) != nil {
			k.pending.back(all[i:], k.cfg.Clock.Boot())
			return
		}
	}
	if len(all) > 0 {
		k.pending.back(nil, 0)
	}
}

// tellLast is tellAgain at the end, whenever the last try was. The error says what nobody will be told any more but by the log.
func (k *Keeper) tellLast() error {
	k.pending.mu.Lock()
	k.pending.next = 0
	k.pending.mu.Unlock()
	k.tellAgain()
	k.pending.mu.Lock()
	defer k.pending.mu.Unlock()
	n := len(k.pending.reports) + k.pending.missed
	if n == 0 {
		return nil
	}
	return k.store.refuse(ClassStoreFailed, fmt.Sprintf("%d late writes cannot be told: the store takes no report", n), "the daemon's log has them", nil, nil)
}
