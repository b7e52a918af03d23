package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// daemonStatus is what `jvsfs status --json` says of one mount.
type daemonStatus struct {
	Mountpoint string `json:"mountpoint"`
	PID        int    `json:"pid"`
	Statistics struct {
		Inodes           int64 `json:"inodes"`
		InodeBudget      int64 `json:"inode_budget"`
		Handles          int64 `json:"handles"`
		DescriptorBudget int64 `json:"descriptor_budget"`
		MemoryBudget     int64 `json:"memory_budget"` // bytes
	} `json:"statistics"`
}

func statusOf(binary, mountpoint string) (s daemonStatus, err error) {
	out, err := exec.Command("timeout", "60", binary, "status", "--json").Output()
	if err != nil {
		return s, err
	}
	var all struct {
		Mounts []daemonStatus `json:"mounts"`
	}
	if err := json.Unmarshal(out, &all); err != nil {
		return s, err
	}
	for _, m := range all.Mounts {
		if m.Mountpoint == mountpoint {
			return m, nil
		}
	}
	return s, fmt.Errorf("no mount at %s", mountpoint)
}

// usage is what the daemon had at one moment.
type usage struct {
	at                                   time.Duration
	inodes, handles, descriptors, memory int64
}

func usageOf(binary, mountpoint string, since time.Time) (u usage, s daemonStatus, err error) {
	if s, err = statusOf(binary, mountpoint); err != nil {
		return u, s, err
	}
	proc := filepath.Join("/proc", strconv.Itoa(s.PID))
	open, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return u, s, err
	}
	memory, err := numberIn(filepath.Join(proc, "status"), `VmRSS:\s+(\d+)`)
	return usage{time.Since(since), s.Statistics.Inodes, s.Statistics.Handles, int64(len(open)), memory << 10}, s, err
}

func numberIn(path, pattern string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(pattern).FindSubmatch(bytes.TrimSpace(text))
	if found == nil {
		return 0, fmt.Errorf("%s: no %s", path, pattern)
	}
	return strconv.ParseInt(string(found[1]), 10, 64)
}

// fallbackMemory is asked for where status shows no budget of memory.
const fallbackMemory = 512 << 20

// limits walks a tree several times and watches the daemon. Its descriptors must stay
// below its limit, its memory below the budget; and later walks must need no more than
// the first, for memory that grows with each is a leak.
func limits(binary, mountpoint string, files, rounds int) error {
	start := time.Now()
	_, s, err := usageOf(binary, mountpoint, start)
	if err != nil {
		return err
	}
	limit, err := numberIn(fmt.Sprintf("/proc/%d/limits", s.PID), `Max open files\s+(\d+)`)
	if err != nil {
		return err
	}
	budget := max(s.Statistics.MemoryBudget, 0)
	if budget == 0 {
		budget = fallbackMemory
	}
	fmt.Printf("limit of descriptors %d, budget of inodes %d, budget of memory %d MiB\n\n", limit, s.Statistics.InodeBudget, budget>>20)
	fmt.Printf("%8s %8s %8s %12s %12s\n", "seconds", "inodes", "handles", "descriptors", "memory/KiB")
	var most []usage
	for round := range rounds {
		worst, err := watchWalk(binary, mountpoint, files, start)
		if err != nil {
			return fmt.Errorf("walk %d: %w", round+1, err)
		}
		most = append(most, worst)
	}
	return judge(most, limit, budget)
}

// watchWalk walks the tree once and returns the most that the daemon needed.
func watchWalk(binary, mountpoint string, files int, start time.Time) (worst usage, err error) {
	done := make(chan error, 1)
	go func() { done <- walk(mountpoint, files) }()
	for {
		u, _, e := usageOf(binary, mountpoint, start)
		if e != nil {
			return worst, e
		}
		worst.descriptors, worst.memory = max(worst.descriptors, u.descriptors), max(worst.memory, u.memory)
		worst.inodes = max(worst.inodes, u.inodes)
		fmt.Printf("%8.0f %8d %8d %12d %12d\n", u.at.Seconds(), u.inodes, u.handles, u.descriptors, u.memory>>10)
		select {
		case err = <-done:
			fmt.Printf("%8.0f walked\n", time.Since(start).Seconds())
			return worst, err
		case <-time.After(3 * time.Second):
		}
	}
}

// walk asks for the attributes of every file, as find and git do.
func walk(dir string, files int) error {
	found := 0
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found++
		_, err = d.Info()
		return err
	})
	if err == nil && found != files {
		err = fmt.Errorf("%d files, want %d", found, files)
	}
	return err
}

func judge(most []usage, limit, budget int64) error {
	first, last := most[0], most[len(most)-1]
	for _, u := range most {
		switch {
		case u.descriptors > limit:
			return fmt.Errorf("%d descriptors, limit %d", u.descriptors, limit)
		case u.memory > budget:
			return fmt.Errorf("%d MiB of memory, budget %d", u.memory>>20, budget>>20)
		}
	}
	fmt.Printf("\nmost in the first walk %d descriptors and %d MiB, in the last %d and %d MiB\n", first.descriptors, first.memory>>20, last.descriptors, last.memory>>20)
	if last.memory > first.memory*5/4+(32<<20) {
		return fmt.Errorf("memory grows from walk to walk")
	}
	return nil
}
