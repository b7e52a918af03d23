package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Switches are the voluntary context switches of processes by thread: how often it was awake and went to sleep again.
func Switches(pids ...int) map[string]uint64 {
	all := map[string]uint64{}
	for _, pid := range pids {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		for _, thread := range threads {
			text, err := os.ReadFile(filepath.Join(thread, "status"))
			if err != nil { // it has ended
				continue
			}
			_, count, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
			count, _, _ = strings.Cut(count, "\n")
			n, _ := strconv.ParseUint(strings.TrimSpace(count), 10, 64)
			all[thread] = n
		}
	}
	return all
}

// SwitchesSince is how many there were since another look.
func SwitchesSince(before, now map[string]uint64) (n uint64) {
	for thread, count := range now {
		n += count - before[thread]
	}
	return n
}
