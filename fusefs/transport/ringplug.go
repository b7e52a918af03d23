package transport

import (
	"os"

	"golang.org/x/sys/unix"
)

// plugEvery is after how many ticks of the watch it looks which processors are on: about once a second.
const plugEvery = 500

// lookForProcessors binds threads to processors that have come back, or come at all: when one goes off, its threads may
// run anywhere from then on (select_fallback_rq in kernel/sched/core.c).
func (r *ringChannel) lookForProcessors() {
	if on, err := os.ReadFile("/sys/devices/system/cpu/online"); err == nil {
		r.plugged(string(on))
	}
}

// plugged binds each hand to the processor of its queue if others are on than before. Those of processors that are off fail, and stay.
func (r *ringChannel) plugged(on string) {
	if on == r.on {
		return
	}
	r.on = on
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.hands {
		if h.tid != 0 {
			_ = pinThread(h.tid, h.queue.id)
		}
	}
}

// bind binds the hand's thread. unbind must follow before it ends: another could have its number then.
func (h *ringHand) bind() (unbind func()) {
	// On the processor whose callers it answers, so that neither wakes another one. If that is off, elsewhere.
	_ = pinThread(0, h.queue.id)
	h.bound(unix.Gettid())
	return func() { h.bound(0) }
}

func (h *ringHand) bound(tid int) {
	h.channel.mu.Lock()
	defer h.channel.mu.Unlock()
	h.tid = tid
}

// pinThread binds a thread to a processor; 0 is the calling one.
func pinThread(tid, processor int) error {
	var one unix.CPUSet
	one.Set(processor)
	return unix.SchedSetaffinity(tid, &one)
}
