package fusefs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Way says how requests come from the kernel.
type Way string

// The ways. WayAuto is for the mount to choose.
const (
	WayAuto  Way = "auto"
	WayURing Way = "uring"
	WayDev   Way = "dev"
)

// notAuto is why WayAuto does not take the ring, whatever the kernel has; "" and it does.
const notAuto = "transport auto does not choose io_uring yet"

// URingParameter is the switch of FUSE over io_uring. It is off by default, and only the admin switches it.
const URingParameter = "/sys/module/fuse/parameters/enable_uring"

// ErrNoRing is the error of a mount that must have io_uring where it cannot.
var ErrNoRing = errors.New("FUSE over io_uring cannot be had")

// choose makes the channel, once for the mount, as soon as the kernel has said what it can do.
func (t *transport) choose(way Way, byUser bool, hello *fuse.InitIn) error {
	if way == WayDev || way == "" {
		return nil
	}
	ring, err := t.ring(way, byUser, hello)
	switch {
	case err == nil:
		t.channel, t.uring, t.slots.most = ring, ring, ringQueuedMax
		ring.tell = t.tell
		t.proto = fuse.NewProtocolServer(t.fs, mountOptions(t.log, !t.fs.locks.off, fuse.CAP_OVER_IO_URING))
		return nil
	case way == WayURing:
		return fmt.Errorf("%w: %w", ErrNoRing, err)
	}
	note := t.log.Info
	if notAuto != "" {
		note = t.log.Debug // nobody expects anything else
	}
	note("requests come by /dev/fuse", zap.String("why", err.Error()))
	return nil
}

// ring makes the rings, or says why it does not.
func (t *transport) ring(way Way, byUser bool, hello *fuse.InitIn) (*ringChannel, error) {
	switch {
	case way != WayURing && notAuto != "":
		return nil, errors.New(notAuto)
	case hello.Flags64()&fuse.CAP_OVER_IO_URING == 0:
		return nil, errors.New("the kernel does not offer it (Linux 6.14 and later, if " + URingParameter + " is Y)")
	case byUser:
		return nil, errors.New("mounts of users come by /dev/fuse")
	}
	possible, err := os.ReadFile("/sys/devices/system/cpu/possible")
	if err != nil {
		return nil, err
	}
	queues, err := processors(strings.TrimSpace(string(possible)))
	if err != nil {
		return nil, err
	}
	if err := reachable(queues); err != nil {
		return nil, err
	}
	return newRingChannel(t.dev, queues, &t.threads, t.meter, t.log)
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

// Transport is how a mount gets its requests. The JSON names are stable.
type Transport struct {
	Name string `json:"name"` // dev or uring
	// Threads and Memory are those for io_uring: threads that take requests, and their buffers in bytes, of which
	// only what requests have touched takes memory.
	Threads int64 `json:"threads,omitempty"`
	Memory  int64 `json:"memory,omitempty"`
}

func (t *transport) state() Transport {
	if t == nil || t.uring == nil {
		return Transport{Name: string(WayDev)}
	}
	return Transport{Name: string(WayURing), Threads: int64(t.uring.all.Load()), Memory: t.uring.bytes.Load()}
}

// abortBy says how to end the connection if the ring fails. Without that, somebody could wait for ever.
func (t *transport) abortBy(s *Server) error {
	if t.uring == nil {
		return nil
	}
	if s.abort == nil {
		return fmt.Errorf("%w: %w", ErrNoRing, errNoAbort)
	}
	t.uring.abort, t.uring.device = s.Abort, unix.Mkdev(s.major, s.minor)
	return nil
}

// discard frees the channel of a mount that was not made.
func (t *transport) discard() {
	if t.uring != nil {
		t.uring.close()
	}
}
