package logging

import (
	"context"
	"maps"
	"slices"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/batch"
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

// Count is how many lines were left out since the start.
func (s *Suppressed) Count() uint64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Run logs the number of omitted lines until ctx ends, and then once more. While none is omitted it does not wake.
func (s *Suppressed) Run(ctx context.Context, log *zap.Logger) {
	if s == nil {
		return
	}
	batch.Run(ctx, s.wake, period, func() {}, func() { s.say(log) })
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
