package gate

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// crowd is the set of processes that belonged to a holder when it lost its lease, and those that
// they have made since. A process of the crowd stays in it when it leaves the session. A process
// that existed before the loss and did not belong to the holder is not in it. Used under the
// guard's lock.
type crowd struct {
	since uint64           // time of the loss, in clock ticks after boot
	all   map[process]bool // false: released
	over  atomic.Bool      // it keeps nobody out any more

	mu     sync.Mutex
	forked map[int]uint64 // pid: when it was made, in clock ticks after boot
}

// ticksPerSecond is USER_HZ, the unit of start times in /proc. It is 100 on all of Linux's ABIs
// that jvsfs runs on.
const ticksPerSecond = 100

// crowdOf finds the processes of a holder. loss is when it lost its lease, on the boot clock.
func (r *Resolver) crowdOf(h lease.Holder, loss time.Duration) *crowd {
	scope := Scope(h.Scope)
	if h.PID == 0 || h.BootID != host().bootID || h.PIDNamespace != host().pidNS || scope != ScopeSession && scope != ScopeTree && scope != ScopeDefault {
		return nil
	}
	c := &crowd{since: ticks(loss), all: make(map[process]bool), forked: make(map[int]uint64)}
	r.forks.follow(c) // before they are listed: no new one is missed
	sid, _, _ := parseSessionKey(h.ScopeKey)
	stats := make(map[int]ProcStat)
	for _, pid := range processes() {
		if st, err := ReadStat(pid); err == nil {
			stats[pid] = st
		}
	}
	c.mu.Lock()
	for pid, st := range stats {
		if scope == ScopeSession && sid != 0 && st.session == sid || scope != ScopeSession && below(stats, pid, h) {
			c.all[process{pid, st.Start}] = true
			c.forked[pid] = st.Start
		}
	}
	c.mu.Unlock()
	return c
}

// made takes in that a process was made. If its maker is in the crowd, so is the new process.
func (c *crowd) made(b born) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := ticks(b.at)
	if began, known := c.forked[b.by]; known && began <= at && len(c.forked) < membersMax {
		c.forked[b.pid] = at
	} else if !known {
		delete(c.forked, b.pid) // the number has a new owner
	}
}

// wasMade reports whether the kernel told that the crowd made this process. The kernel reads the
// start time a moment before it tells, so the two may differ by a tick.
func (c *crowd) wasMade(p process) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.forked[p.pid]
	return known && p.start <= at+1 && at <= p.start+1
}

func ticks(boot time.Duration) uint64 { return uint64(boot / (time.Second / ticksPerSecond)) }

// below reports whether a process is the holder's or descends from it.
func below(stats map[int]ProcStat, pid int, h lease.Holder) bool {
	tops := roots(h)
	for range ancestorsMax {
		st, known := stats[pid]
		if !known || slices.Contains(tops, process{pid, st.Start}) {
			return known
		}
		pid = st.PPID
	}
	return false
}

// has reports whether a process belongs to the crowd, or was made by it since the loss, as far as
// the kernel has told (forks) or its living ancestors show.
func (c *crowd) has(id Identity) bool {
	if c == nil || id.PID == 0 {
		return false
	}
	at, parent := process{id.PID, id.Start}, id.PPID
	for range ancestorsMax {
		if in, known := c.all[at]; known {
			if in {
				c.note(process{id.PID, id.Start})
			}
			return in
		}
		if c.wasMade(at) {
			c.note(process{id.PID, id.Start})
			return true
		}
		if at.start < c.since || parent <= 0 {
			return false
		}
		st, err := ReadStat(parent)
		if err != nil {
			return false
		}
		if child, err := ReadStat(at.pid); err != nil || child.Start != at.start || child.PPID != parent {
			return false
		}
		at, parent = process{parent, st.Start}, st.PPID
	}
	return false
}

// release removes a holder that acquired on purpose, and so what it makes later.
func (c *crowd) release(h lease.Holder) {
	if c != nil && h.PID != 0 && h.BootID == host().bootID && h.PIDNamespace == host().pidNS {
		c.all[process{h.PID, h.StartTime}] = false
		c.mu.Lock()
		delete(c.forked, h.PID)
		c.mu.Unlock()
	}
}

// note remembers a descendant. So it is still known when its parents have ended.
func (c *crowd) note(p process) {
	if len(c.all) < membersMax {
		c.all[p] = true
	}
}
