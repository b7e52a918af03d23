package transport

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
)

// Way says how requests come from the kernel.
type Way string

// The ways. WayAuto is for the mount to choose.
const (
	WayAuto  Way = "auto"
	WayURing Way = "uring"
	WayDev   Way = "dev"
)

// ErrNoRing is the error of a mount that must have io_uring where it cannot.
var ErrNoRing = errors.New("FUSE over io_uring cannot be had")

// choose makes the channel, once for the mount, as soon as the kernel has said what it can do.
func (t *Transport) choose(way Way, byUser bool, hello *fuse.InitIn) error {
	if way == WayDev || way == "" {
		return nil
	}
	ring, err := t.ring(gatherRing(hello.Flags64()&fuse.CAP_OVER_IO_URING != 0, byUser))
	switch {
	case err == nil:
		t.channel, t.uring, t.limits.most = ring, ring, ringQueuedMax
		ring.tell, ring.signalled = t.tell, t.signalled
		t.offerRings()
		return nil
	case way == WayURing:
		return fmt.Errorf("%w: %w", ErrNoRing, err)
	}
	t.whyDev = err.Error()
	t.log.Info("requests come by /dev/fuse", zap.String("why", t.whyDev))
	return nil
}

// ring makes the rings, or says why it does not.
func (t *Transport) ring(f ringFacts) (*ringChannel, error) {
	if err := f.why(); err != nil {
		return nil, err
	}
	return newRingChannel(t.dev, f.queues, &t.threads, t.cpuOf, t.meter, t.log)
}

// processorsOf is how many processors a file below /sys/devices/system/cpu names.
func processorsOf(file string) (int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/" + file)
	if err != nil {
		return 0, err
	}
	return processors(strings.TrimSpace(string(text)))
}

// processors is how many queues the kernel wants: one for each processor that there may ever be. It takes the
// processor's number for the queue's, so there must be no gap.
func processors(possible string) (int, error) {
	first, last, ranged := strings.Cut(possible, "-")
	if !ranged {
		last = first
	}
	n, err := strconv.ParseUint(last, 10, 16)
	if first != "0" || err != nil {
		return 0, fmt.Errorf("the numbers of the processors have gaps: %s", possible)
	}
	return int(n) + 1, nil
}

// State is how a mount gets its requests. The JSON names are stable.
type State struct {
	Name string `json:"name"`          // dev or uring
	Why  string `json:"why,omitempty"` // it is dev, where the mount had to choose
	// Threads and Memory are those for io_uring: threads that take requests, and their buffers in bytes, of which
	// only what requests have touched takes memory. Pinned is memory of the kernel that cannot be swapped.
	Threads int64 `json:"threads,omitempty"`
	Memory  int64 `json:"memory,omitempty"`
	Pinned  int64 `json:"pinned,omitempty"`
}

// State says how the requests come. Before the mount t is nil.
func (t *Transport) State() State {
	switch {
	case t == nil:
		return State{Name: string(WayDev)}
	case t.uring == nil:
		return State{Name: string(WayDev), Why: t.whyDev}
	}
	threads := int64(t.uring.all.Load())
	return State{Name: string(WayURing), Threads: threads, Memory: t.uring.bytes.Load(), Pinned: threads * ringPinned}
}

// AbortBy says how to end the connection if a ring fails, and the mount's device. Without that, somebody could wait for ever.
func (t *Transport) AbortBy(abort func() error, device uint64) {
	if t.uring != nil {
		t.uring.abort, t.uring.device = abort, device
	}
}

// Discard frees the channel of a mount that was not made.
func (t *Transport) Discard() {
	if t.uring != nil {
		t.uring.close()
	}
}
