package transport

import "time"

// affinityTrial judges whether calls go faster while their reader is kept near its caller, on the same processor, than while the
// reader is free. What is better depends on the machine: to wake a sleeping processor takes 1 to 50 µs. So both are
// measured, in windows of calls, and near must win clearly.
type affinityTrial struct {
	near     bool
	skip     int           // this many calls are not counted: what has changed is still settling
	calls    int           // in this window
	sum      time.Duration // of their times
	free     time.Duration // the mean of a window in which the reader was free, before it was kept near
	chases   int           // how often in a row the reader came near and won nothing
	failures uint          // how often in a row near has not paid
	rest     int           // for this many calls near is not tried
	spell    time.Duration // what the calls have taken since the reader came near, also while it came after its caller
	spelled  int           // how many they are
	best     time.Duration // the least mean of them
	stayed   int           // how many calls the reader has been near
}

// advice is what a reader should do.
type advice int

const (
	goOn     advice = iota
	comeNear        // keep the reader on its caller's processor, and say so by came
	letGo           // the reader has to be free again
	compare         // it has to be free for a window: what that is worth is not known any more
)

const (
	freeWindow = 32 // calls of a reader that is free
	nearWindow = 8  // calls of a reader that is near: fewer, because the kernel may move the caller at any time
	nearSettle = 2
	// freeSettle is as much after the reader was near: a free one has to find out first whether to poll pays.
	freeSettle = 64
	// callMost bounds what one call adds to a window: a call that waits for a disk says nothing of processors.
	callMost = 300 * time.Microsecond
	// chasesMax: the kernel may move the caller away just when the reader comes.
	chasesMax = 16
	// spellCalls is after how many calls near has to have paid on the whole. Where the caller goes again and again (to an idle processor
	// that shares a cache: select_idle_cpu, kernel/sched/fair.c of Linux 6.18) it pays for some calls each time, and costs more in between.
	spellCalls = 256
	// hopelessCalls: after so many it is enough to see that they take longer by a quarter.
	hopelessCalls = 64
	// freeLasts is how many calls the mean of a free reader is believed, and as long as near does not get slower by half. Programs do
	// other things than at their start.
	freeLasts = 8192
	// After a failure near is tried again after trialRest calls, and after each further one in a row after twice as many,
	// up to 131,072 calls; or as soon as calls take much longer than before.
	trialRest        = 1024
	trialFailuresMax = 7
)

// call notes how long a call took, from the one before it.
func (p *affinityTrial) call(took time.Duration) advice {
	most, window := callMost, freeWindow
	if p.near {
		most, window = min(callMost, 2*p.free), nearWindow
		p.spell += min(took, most)
		p.spelled++
		p.stayed++
	}
	if p.skip > 0 {
		p.skip--
		return goOn
	}
	p.sum += min(took, most)
	if p.calls++; p.calls < window {
		return goOn
	}
	mean := p.sum / time.Duration(window)
	p.calls, p.sum = 0, 0
	if p.near {
		return p.judgeNear(mean)
	}
	return p.judgeFree(mean)
}

// judgeNear says what a window near the caller means.
func (p *affinityTrial) judgeNear(mean time.Duration) advice {
	if p.spelled >= spellCalls {
		if a := p.judgeSpell(); a != goOn {
			return a
		}
	}
	if p.stayed <= spellCalls && p.spelled >= hopelessCalls && p.spell*4 > p.free*5*time.Duration(p.spelled) {
		return letGo
	}
	switch {
	case pays(mean, p.free):
		p.chases = 0
		return goOn
	case p.chases < chasesMax:
		p.chases++
		return comeNear
	}
	return letGo
}

// judgeSpell says what all calls mean since the reader came near. The older half of them counts less and less.
func (p *affinityTrial) judgeSpell() advice {
	mean := p.spell / time.Duration(p.spelled)
	p.spell, p.spelled = p.spell/2, p.spelled/2
	if !pays(mean, p.free) {
		return letGo
	}
	p.failures = 0
	if p.best == 0 || mean < p.best {
		p.best = mean
	}
	if p.stayed >= freeLasts || mean*2 > p.best*3 {
		return compare
	}
	return goOn
}

// hasPaid reports whether near has paid all in all, for long enough to tell. Then a slow window with the caller beside its reader was slow for
// another reason: a disk, or others who want the processor.
func (p *affinityTrial) hasPaid() bool {
	return p.stayed > spellCalls && pays(p.spell/time.Duration(p.spelled), p.free)
}

// judgeFree says what a window of a reader that is free means.
func (p *affinityTrial) judgeFree(mean time.Duration) advice {
	if p.rest > 0 && mean*2 < p.free*3 {
		p.rest -= freeWindow
		return goOn
	}
	p.free, p.chases, p.rest = mean, 0, 0
	return comeNear
}

// pays: what is won must be more than how much two windows of the same differ.
func pays(near, free time.Duration) bool { return near*10 < free*9 }

// came says that the reader is near now.
func (p *affinityTrial) came() { p.near, p.skip, p.calls, p.sum = true, nearSettle, 0, 0 }

// failed says that near does not pay.
func (p *affinityTrial) failed() {
	p.rest = trialRest << p.failures
	p.failures = min(p.failures+1, trialFailuresMax)
}

// left says that the reader is free, and begins a new window.
func (p *affinityTrial) left() {
	settle := nearSettle
	if p.near {
		settle = freeSettle
	}
	p.near, p.skip, p.calls, p.sum = false, settle, 0, 0
	p.spell, p.spelled, p.best, p.stayed = 0, 0, 0, 0
}
