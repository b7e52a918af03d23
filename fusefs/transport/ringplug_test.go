package transport

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A thread is bound again when processors come or go, and only then.
func TestAThreadIsBoundToAProcessorThatComesBack(t *testing.T) {
	onItsOwnThread(func() {
		var all unix.CPUSet
		require.NoError(t, unix.SchedGetaffinity(0, &all))
		first := firstOf(&all)
		r := &ringChannel{}
		h := &ringHand{channel: r, queue: &ringQueue{id: first}}
		r.hands = []*ringHand{h, {channel: r, queue: &ringQueue{id: 1 << 9}}} // the other has no thread
		unbind := h.bind()
		requireBound(t, first)
		r.plugged("0")
		for on, want := range map[string]bool{"0": false, "0-1": true} {
			require.NoError(t, unix.SchedSetaffinity(0, &all)) // as the kernel does when the processor goes off
			r.on = "0"
			r.plugged(on)
			var now unix.CPUSet
			require.NoError(t, unix.SchedGetaffinity(0, &now))
			require.Equal(t, want || all.Count() == 1, now.Count() == 1, on)
		}
		unbind()
		require.NoError(t, unix.SchedSetaffinity(0, &all))
		r.plugged("0-2")
		var now unix.CPUSet
		require.NoError(t, unix.SchedGetaffinity(0, &now))
		require.Equal(t, all, now, "its number may be another thread's")
	})
}

func firstOf(set *unix.CPUSet) int {
	for p := range 1024 {
		if set.IsSet(p) {
			return p
		}
	}
	return 0
}

func requireBound(t *testing.T, processor int) {
	t.Helper()
	var now, want unix.CPUSet
	want.Set(processor)
	require.NoError(t, unix.SchedGetaffinity(0, &now))
	require.Equal(t, want, now)
}
