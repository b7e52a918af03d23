package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// conditions say what the figures hold for.
type conditions struct {
	Kernel    string    `json:"kernel"`
	CPUs      int       `json:"cpus"`
	Processor string    `json:"processor,omitempty"`
	Rounds    int       `json:"rounds"`
	When      time.Time `json:"when"`
	Commit    string    `json:"commit,omitempty"` // of jvsfs
	Command   string    `json:"command,omitempty"`
	Load      float64   `json:"load"` // of the last minute before the run
}

func currentConditions(o options) conditions {
	var u unix.Utsname
	_ = unix.Uname(&u)
	return conditions{
		Kernel: unix.ByteSliceToString(u.Release[:]), CPUs: runtime.NumCPU(), Processor: processor(), Rounds: o.rounds,
		When: time.Now().UTC().Truncate(time.Second), Commit: o.commit, Command: o.command, Load: loadAverage(),
	}
}

func (c conditions) String() string {
	return fmt.Sprintf("Linux %s, %d processors, median of %d rounds", c.Kernel, c.CPUs, c.Rounds)
}

// busy says that others had a part of the machine, as far as can be seen before the run.
func (c conditions) busy() bool { return c.Load > 0.3*float64(c.CPUs) }

func loadAverage() (load float64) {
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(text), &load)
	}
	return load
}

// processor is its name, where the kernel knows it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
