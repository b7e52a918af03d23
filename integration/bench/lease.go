package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"strconv"
)

// hold takes the lease of a jvsfs mount for a process and its descendants.
func (p programs) hold(dir string, pid int) error {
	return p.lock("acquire", dir, pid)
}

func (p programs) release(dir string, pid int) error {
	return p.lock("release", dir, pid)
}

func (p programs) lock(verb, dir string, pid int) error {
	out, err := exec.Command(p.jvsfs, "lock", verb, "--pid", strconv.Itoa(pid), dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("lock %s: %w: %s", verb, err, lastLine(string(out)))
	}
	return nil
}

// requests are the counters of the daemon, by kind of request.
func (p programs) requests(dir string) (map[string]int64, error) {
	out, err := exec.Command(p.jvsfs, "status", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	var status struct {
		Mounts []struct {
			Mountpoint string `json:"mountpoint"`
			Statistics struct {
				Requests map[string]int64 `json:"requests"`
			} `json:"statistics"`
		} `json:"mounts"`
	}
	if err := json.Unmarshal(out, &status); err != nil {
		return nil, err
	}
	for _, m := range status.Mounts {
		if m.Mountpoint == dir {
			return m.Statistics.Requests, nil
		}
	}
	return nil, fmt.Errorf("no mount at %s in the status", dir)
}

// perOperation is what the counters grew by for each operation.
func perOperation(before, after map[string]int64, ops int) map[string]float64 {
	out := map[string]float64{}
	for kind, n := range maps.All(after) {
		if n -= before[kind]; n > 0 {
			out[kind] = float64(n) / float64(ops)
		}
	}
	return out
}
