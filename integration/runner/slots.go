package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// atLeast is how many stories for each processor run however busy these are: a story waits for 60 % of its time, so with fewer the
// processors would be idle as soon as nobody else uses them.
const atLeast = 3

// perStory is how many inotify instances a story may need: a daemon has some, and a story a few daemons. The kernel's limit holds for all
// that root runs (fs.inotify.max_user_instances, 128 by default), whatever its namespaces.
const perStory = 6

// idleShare is the part of the processors' time that must be unused for one more story to begin.
const idleShare = 0.1

// look is how long the processors are watched before that is decided again.
const look = 250 * time.Millisecond

// slots say when one more story may begin. One goroutine takes and rests; any may give.
type slots struct {
	least, most, running int
	ended                chan struct{}
	times                func() (idle, all uint64) // of the processors, since the machine's start, in ticks
}

func newSlots(most int) *slots {
	if limit, err := readNumber("/proc/sys/fs/inotify/max_user_instances"); err == nil {
		most = max(1, min(most, limit/perStory))
	}
	return &slots{least: min(most, atLeast*runtime.NumCPU()), most: most, ended: make(chan struct{}), times: processorTimes}
}

// take waits until one more story may begin: at once below the least number, never at the most, and between them when the processors have
// been idle for a moment. Waiting for a disk is not being idle: one more story would wait there, too.
func (s *slots) take(ctx context.Context) error {
	for s.running >= s.least {
		idle, all := s.times()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ended:
			s.running--
			continue
		case <-time.After(look):
		}
		idleNow, allNow := s.times()
		if s.running < s.most && float64(idleNow-idle) > idleShare*float64(allNow-all) {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.running++
	return nil
}

// give says that a story has ended.
func (s *slots) give() { s.ended <- struct{}{} }

// rest waits until each story has ended.
func (s *slots) rest() {
	for ; s.running > 0; s.running-- {
		<-s.ended
	}
}

// processorTimes are those of the first line of /proc/stat.
func processorTimes() (idle, all uint64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 1 // as good as never idle
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return sumTimes(line)
}

// sumTimes reads "cpu user nice system idle iowait irq softirq steal guest guest_nice" (proc_stat(5)); guests are in user and nice already.
func sumTimes(line string) (idle, all uint64) {
	fields := strings.Fields(line)
	for i, field := range fields[min(1, len(fields)):min(9, len(fields))] {
		n, _ := strconv.ParseUint(field, 10, 64)
		all += n
		if i == 3 {
			idle = n
		}
	}
	return idle, all
}

func readNumber(path string) (n int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(text), &n)
	return n, err
}
