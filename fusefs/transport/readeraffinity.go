package transport

import "time"

// readerAffinity keeps a reader on the processor of its caller, if one thread calls alone and that makes its calls faster (affinityTrial).
// There the two change places without waking a processor, and the reader need not poll.
type readerAffinity struct {
	affinityTrial
	pinning *cpuPinning
	lastCPU *lastCPU
	holder  *cpuHolder
	caller  uint32        // whose calls are measured
	others  int           // calls of others in this window
	last    time.Duration // when the call before this one came
	thread  int           // the reader's, while it is near
	at      int           // the processor that it is kept on
	asked   bool          // lastCPU is looking for the caller
	landing bool          // the reader has just come, and not answered there
	pinned  uint64        // the generation of pinning in which it came near
}

// othersMax calls of others in a window are no reason to leave a caller.
const othersMax = 8

// took notes a call that somebody waits for. alone says whether no other reader was waiting for it too; thread is the reader's.
func (f *readerAffinity) took(caller uint32, at time.Duration, alone bool, thread int) {
	if f.landing {
		f.landing = false
		f.holder.drop()
	}
	since := at - f.last
	f.last = at
	if f.near && f.pinned != f.pinning.generation.Load() {
		f.left()
	}
	if caller != f.caller || !alone {
		if f.others++; f.others > othersMax {
			f.turnTo(caller)
		}
		return
	}
	switch f.call(since) {
	case letGo:
		f.fail()
	case compare:
		f.letGo()
	case comeNear:
		f.asked = true
		f.lastCPU.ask(caller)
	case goOn:
		if f.calls == 0 {
			f.others = 0
		}
	}
	if f.asked {
		f.come(thread)
	}
}

// turnTo leaves a caller for another one.
func (f *readerAffinity) turnTo(caller uint32) {
	f.letGo()
	f.left()
	f.caller, f.others = caller, 0
}

// come goes to the caller if lastCPU has found it.
func (f *readerAffinity) come(thread int) {
	select {
	case w := <-f.lastCPU.found:
		if w.thread != f.caller {
			return // the answer is for another reader, or for a caller that was left
		}
		f.asked = false
		switch {
		case w.processor < 0:
			f.fail()
		case !f.near || w.processor != f.at:
			f.keep(thread, w.processor)
		case !f.hasPaid():
			f.fail()
		}
	default:
	}
}

// keep keeps the reader on a processor.
func (f *readerAffinity) keep(thread, processor int) {
	if from := processorHere(); from != processor {
		f.holder.hold(from)
		f.landing = true
	}
	generation, ok := f.pinning.keep(thread, processor)
	if !ok {
		f.fail()
		return
	}
	f.thread, f.at, f.pinned = thread, processor, generation
	f.came()
}

// fail frees the reader, for some time.
func (f *readerAffinity) fail() {
	f.failed()
	f.letGo()
}

// letGo frees the reader's thread, if it was near. An answer of lastCPU that is still to come brings it back no more.
func (f *readerAffinity) letGo() {
	f.asked = false
	if f.near {
		f.pinning.free(f.thread)
		f.left()
	}
}
