package daemon

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Suppressed counts the log lines that sampling has left out, and says how many at
// the end of each period. Safe for concurrent use; nil counts nothing.
type Suppressed struct {
	mu    sync.Mutex
	total uint64
	lines map[string]uint64 // by sentence, since it was last said
	wake  chan struct{}     // there is one
}

const (
	// suppressedLines bounds the number of sentences that are counted apart.
	suppressedLines = 64
	otherLines      = "other lines"
)

// NewSuppressed has counted nothing yet.
func NewSuppressed() *Suppressed {
	return &Suppressed{lines: map[string]uint64{}, wake: make(chan struct{}, 1)}
}

// note is the sampler's hook.
func (s *Suppressed) note(entry zapcore.Entry, decision zapcore.SamplingDecision) {
	if decision&zapcore.LogDropped == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	line := entry.Message
	if _, known := s.lines[line]; !known && len(s.lines) >= suppressedLines {
		line = otherLines
	}
	if s.lines[line]++; len(s.lines) > 1 || s.lines[line] > 1 {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// count is how many lines were left out since the start.
func (s *Suppressed) count() uint64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// run logs the number of omitted lines until ctx ends, and then once more. While none is omitted it does not wake.
func (s *Suppressed) run(ctx context.Context, log *zap.Logger) {
	if s == nil {
		return
	}
	var due <-chan time.Time
	for {
		select {
		case <-s.wake:
			due = afterFirst(due, logPeriod)
		case <-due:
			due = nil
			s.say(log)
		case <-ctx.Done():
			s.say(log)
			return
		}
	}
}

func (s *Suppressed) say(log *zap.Logger) {
	s.mu.Lock()
	lines := s.lines
	s.lines = map[string]uint64{}
	s.mu.Unlock()
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		log.Warn("log lines suppressed", zap.String("line", line), zap.Uint64("suppressed", lines[line]))
	}
}

// afterFirst is a timer of what is written once a period. The first that is counted starts it. A ticker would wake an idle
// daemon for nothing.
func afterFirst(due <-chan time.Time, period time.Duration) <-chan time.Time {
	if due != nil {
		return due
	}
	return time.After(period)
}
