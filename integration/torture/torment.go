package main

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// torment does to the host from outside what its daemon does not do to itself.
func (h *host) torment() {
	for {
		h.mu.Lock()
		d := h.Theme.between(h.rng)
		h.mu.Unlock()
		time.Sleep(d)
		h.mu.Lock()
		if h.quiet {
			h.mu.Unlock()
			return
		}
		blows := h.blows()
		blows[h.rng.IntN(len(blows))]()
		h.mu.Unlock()
	}
}

// blows are drawn from, each as often as the others.
func (h *host) blows() []func() {
	if h.Theme == passing {
		return []func(){h.stopDaemon, h.stopThread, h.killDaemon, h.stopWriter, h.killWriter,
			h.stepClock, h.slewClock, h.failDisk, h.tearRecord, h.switchMode, h.crash,
			h.replace, h.replace, h.replace, h.replace, h.replace, h.replace,
			h.stranger, h.hostile, h.secondMount}
	}
	return []func(){h.stopDaemon, h.stopThread, h.stopThread, h.killDaemon, h.stopWriter, h.stopWriter, h.killWriter,
		h.stepClock, h.stepClock, h.slewClock, h.failDisk, h.failDisk, h.tearRecord,
		h.switchMode, h.switchMode, h.replace, h.crash,
		h.stranger, h.stranger, h.hostile, h.hostile, h.secondMount, h.secondMount}
}

func (h *host) stopDaemon() {
	if h.daemon != 0 {
		h.note("process", "stop", 0)
		_ = unix.Kill(h.daemon, unix.SIGSTOP) // reap resumes it
	}
}

func (h *host) killDaemon() {
	if h.daemon != 0 && h.rng.IntN(3) == 0 {
		h.note("process", "kill", 0)
		_ = unix.Kill(h.daemon, unix.SIGKILL)
	}
}

func (h *host) someWriter() int {
	pids := make([]int, 0, len(h.writers))
	for pid := range h.writers {
		pids = append(pids, pid)
	}
	if len(pids) == 0 {
		return 0
	}
	slices.Sort(pids)
	return pids[h.rng.IntN(len(pids))]
}

func (h *host) stopWriter() {
	if pid := h.someWriter(); pid != 0 && !h.paused[pid] {
		d := h.pause()
		h.note("writer", "stop", d)
		h.paused[pid] = true
		_ = unix.Kill(pid, unix.SIGSTOP)
		go h.resumeLater(pid, d)
	}
}

func (h *host) killWriter() {
	if pid := h.someWriter(); pid != 0 && h.rng.IntN(2) == 0 {
		h.note("writer", "kill", 0)
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// stepClock steps the wall clock: a little, as a time server does, or a lot, as people do; and often back to the truth.
func (h *host) stepClock() {
	to := 0
	switch x := h.rng.IntN(20); {
	case x < 1:
		to = h.rng.IntN(6001) - 3000
	case x < 5:
		to = h.rng.IntN(801) - 400
	case x < 14:
		to = h.rng.IntN(h.SkewMS+1) - h.SkewMS/2
	}
	if h.Tier == "c" && to == 0 {
		to = h.WallMS // clocks stay apart
	}
	h.note("wall_clock", "step", 0)
	h.page.Set(plan.PageWall, int64(h.span(to)))
}

// slewClock makes the wall clock run fast or slow for a while.
func (h *host) slewClock() {
	rate := h.rng.IntN(401) - 200 // thousandths
	h.note("wall_clock", "slew", 0)
	go func() {
		for range 40 {
			time.Sleep(5 * time.Millisecond)
			h.mu.Lock()
			if !h.quiet {
				h.page.Set(plan.PageWall, h.page.Get(plan.PageWall)+int64(rate)*int64(5*time.Microsecond))
			}
			h.mu.Unlock()
		}
	}()
}

// failDisk makes the lock directory or the audit log fail for a while: now and then, or always.
func (h *host) failDisk() {
	errno := []unix.Errno{unix.ENOSPC, unix.EIO, unix.EROFS}[h.rng.IntN(3)]
	ppm := []int{20000, 200000, 1000000}[h.rng.IntN(3)]
	what := []int{plan.FailAll, plan.FailAll, plan.FailAudit, plan.FailSight}[h.rng.IntN(4)]
	if what == plan.FailSight && h.rng.IntN(3) > 0 {
		errno = unix.EIO // which is all that opening for reading and listing fail with
	}
	d := h.span(10 + h.rng.IntN(h.LeaseMS))
	h.note("disk", unix.ErrnoName(errno), d)
	h.page.Set(plan.PageWhat, int64(what))
	h.page.Set(plan.PageErrno, int64(errno))
	h.page.Set(plan.PageFailing, int64(ppm))
	go func() {
		time.Sleep(d)
		h.page.Set(plan.PageFailing, 0)
	}()
}
