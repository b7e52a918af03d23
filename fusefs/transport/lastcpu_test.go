package transport

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// It is looked for beside the reader, one thread after the other.
func TestTheProcessorOfAThreadIsAsked(t *testing.T) {
	s, ended := newLastCPU(func(thread uint32) int { return int(thread) - 10 }), make(chan struct{})
	go func() { defer close(ended); s.run() }()
	for _, thread := range []uint32{9, 13} {
		s.ask(thread)
		require.Equal(t, whereabouts{thread, int(thread) - 10}, <-s.found)
	}
	s.end()
	<-ended
}
