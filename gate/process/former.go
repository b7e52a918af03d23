package process

import (
	"sync"
	"sync/atomic"
	"time"
)

// Former is the set of processes that belonged to something when it was lost, and those that they
// have made since. A process of the set stays in it when it leaves the session. A process that
// existed before the loss and did not belong is not in it. Not safe for concurrent use, but for what
// the kernel tells of.
type Former struct {
	since uint64      // time of the loss, in clock ticks after boot
	all   map[ID]bool // false: released
	over  atomic.Bool // see Over

	mu     sync.Mutex
	forked map[int]uint64 // pid: when it was made, in clock ticks after boot
}

// formerMax bounds the memory for processes that make very many others.
const formerMax = 65536

// ticksPerSecond is USER_HZ, the unit of start times in /proc. It is 100 on all of Linux's ABIs
// that jvsfs runs on.
const ticksPerSecond = 100

// Former are the processes that belong to something that is lost at a moment on the boot clock. belongs is asked for
// each of all that run now.
func (r *Resolver) Former(loss time.Duration, belongs func(all map[int]Stat, pid int) bool) *Former {
	c := &Former{since: ticks(loss), all: make(map[ID]bool), forked: make(map[int]uint64)}
	r.forks.follow(c) // before they are listed: no new one is missed
	stats := Stats()
	c.mu.Lock()
	for pid, st := range stats {
		if belongs(stats, pid) {
			c.all[ID{pid, st.Start}] = true
			c.forked[pid] = st.Start
		}
	}
	c.mu.Unlock()
	return c
}

// Over says whether they keep nobody out any more. Then nothing is learnt of what they make.
func (c *Former) Over(over bool) { c.over.Store(over) }

// made takes in that a process was made. If its creator is in the set, so is the new process.
func (c *Former) made(b born) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := ticks(b.at)
	if began, known := c.forked[b.by]; known && began <= at && len(c.forked) < formerMax {
		c.forked[b.pid] = at
	} else if !known {
		delete(c.forked, b.pid) // the number has a new owner
	}
}

// wasMade reports whether the kernel told that one of the set made this process. The kernel reads the
// start time a moment before it tells, so the two may differ by a tick.
func (c *Former) wasMade(p ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.forked[p.PID]
	return known && p.Start <= at+1 && at <= p.Start+1
}

func ticks(boot time.Duration) uint64 { return uint64(boot / (time.Second / ticksPerSecond)) }

// Has reports whether a process belongs to the set, or was made by it since the loss, as far as
// the kernel has told (forks) or its living ancestors show.
func (c *Former) Has(id Identity) bool {
	if c == nil || id.PID == 0 {
		return false
	}
	at, parent := id.ID(), id.PPID
	for range ancestorsMax {
		if in, known := c.all[at]; known {
			if in {
				c.note(id.ID())
			}
			return in
		}
		if c.wasMade(at) {
			c.note(id.ID())
			return true
		}
		if at.Start < c.since || parent <= 0 {
			return false
		}
		st, err := ReadStat(parent)
		if err != nil {
			return false
		}
		if child, err := ReadStat(at.PID); err != nil || child.Start != at.Start || child.PPID != parent {
			return false
		}
		at, parent = ID{parent, st.Start}, st.PPID
	}
	return false
}

// Release removes a process, and so what it makes later.
func (c *Former) Release(p ID) {
	if c == nil {
		return
	}
	c.all[p] = false
	c.mu.Lock()
	delete(c.forked, p.PID)
	c.mu.Unlock()
}

// note remembers a descendant. So it is still known when its parents have ended.
func (c *Former) note(p ID) {
	if len(c.all) < formerMax {
		c.all[p] = true
	}
}
