package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// On a machine that others use too, processor time tells more than the clock: it does
// not contain the time that others took.

// ownCPU is the processor time of this process and of the tools that it has waited for.
func ownCPU() time.Duration {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// cpuOf is the processor time of another process, 0 for none: that of /proc/PID/stat, with the threads that have ended,
// but not rounded to ticks. Its clock is named as clock_getcpuclockid(3) does.
func cpuOf(pid int) time.Duration {
	const scheduled = 2 // CPUCLOCK_SCHED of linux/posix-timers.h
	var ts unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|scheduled), &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

func (m *mounted) daemonCPU() time.Duration {
	if m.cmd == nil {
		return 0
	}
	return cpuOf(m.cmd.Process.Pid)
}

// cpuGrid is the table of processor time: the client's and the daemon's together, and
// what the daemon of jvsfs takes of it for one operation.
func (run mediumRun) cpuGrid() [][]string {
	head := []string{"processor time on " + run.Medium, "native"}
	for _, t := range run.Targets[1:] {
		head = append(head, t, "its daemon")
	}
	rows := [][]string{head}
	ratios := map[string][]float64{}
	for _, r := range run.Rows {
		line := []string{r.Row, timeText(perOpOf(r.Cells["native"].CPU, r.Ops))}
		for _, t := range run.Targets[1:] {
			c := r.Cells[t]
			line = append(line, fmt.Sprintf("%.2f", c.CPURatio.Median), timeText(perOpOf(c.Daemon, r.Ops)))
			ratios[t] = append(ratios[t], c.CPURatio.Median)
		}
		rows = append(rows, line)
	}
	means := []string{"geometric mean", ""}
	for _, t := range run.Targets[1:] {
		means = append(means, fmt.Sprintf("%.2f", geometricMean(ratios[t])), "")
	}
	return append(rows, means)
}
