package lease

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// offClock is a host whose wall clock is wrong.
type offClock struct {
	*fakeClock
	off time.Duration
}

func (c offClock) Wall() time.Time { return c.fakeClock.Wall().Add(c.off) }

// The two properties are about three keepers. Their wall clocks are wrong by up to a minute and a half, and are stepped. They pause (get
// no tick), crash, and run between each other's steps at every named point. Old claims are swept, and the view is deleted. Always:
// tokens strictly grow, no two holders have the same token, and in the end somebody can acquire.

// On one kernel two fences are never open at once, whatever the deadlines. A keeper with an open fence has the gate.
func TestTwoFencesAreNeverOpenAtOnceOnOneKernel(t *testing.T) {
	checkWorlds(t, tierA, func(rt *rapid.T, w *world) {
		if open := w.count(func(r *rig) bool { return r.fence.isOpen() && !r.fence.isFrozen() }); open > 1 {
			rt.Fatalf("%d fences are open", open)
		} else if open == 1 && gateFree(rt, w.dir) {
			rt.Fatal("a fence is open and the gate is free")
		}
	})
}

// If hosts share only the files, and not their flocks, two fences never let writes pass at the same moment.
func TestTwoHostsNeverLetWritesPassAtOnce(t *testing.T) {
	checkWorlds(t, tierRemote, func(rt *rapid.T, w *world) {
		if pass := w.count(func(r *rig) bool { return r.fence.passes() }); pass > 1 {
			rt.Fatalf("%d fences let writes pass", pass)
		}
	})
}

// world is the keepers over one directory.
type world struct {
	dir    *Dir
	clock  *fakeClock
	rigs   []*rig
	last   Token
	nested bool
	offers map[int]standing // by keeper: leases that it offers to others
	check  func(*rapid.T, *world)
}

// standing is a lease that is being offered.
type standing struct {
	offer standingOffer
	thaw  func()
}

func checkWorlds(t *testing.T, at tier, check func(*rapid.T, *world)) {
	base, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		d, err := OpenDir(filepath.Join(base, fmt.Sprint(n)))
		if err != nil {
			rt.Fatal(err)
		}
		defer d.Close()
		d.tier = at
		w := &world{dir: d, clock: newFakeClock(), offers: map[int]standing{}, check: check}
		for range 3 {
			w.add(rt, time.Duration(rapid.IntRange(-90, 90).Draw(rt, "wall offset"))*time.Second)
			defer w.rigs[len(w.rigs)-1].Close()
		}
		for range rapid.IntRange(5, 25).Draw(rt, "steps") {
			w.step(rt, rapid.IntRange(0, 2).Draw(rt, "who"))
		}
		w.somebodyCanAcquire(rt)
	})
}

func (w *world) count(is func(*rig) bool) (n int) {
	for _, r := range w.rigs {
		if is(r) {
			n++
		}
	}
	return n
}

// add makes a keeper. Between hosts each has lock files of its own, because their flocks do not meet.
func (w *world) add(rt *rapid.T, off time.Duration) *rig {
	i := len(w.rigs)
	c := offClock{w.clock, off}
	r := &rig{fence: &fakeFence{clock: c}, live: Alive}
	r.fence.onOpen = func(g Grant) {
		reopened := g.Token == r.fence.grant.Token && g.Token == w.last
		if g.Token <= w.last && !reopened {
			rt.Fatalf("token %d after %d", g.Token, w.last)
		}
		w.last = g.Token
	}
	r.Keeper = NewKeeper(KeeperConfig{Store: w.dir.Store("main"), Clock: c, Fence: r.fence, GateWait: time.Millisecond,
		Liveness: func(Holder) Liveness { return r.live },
		Pause: func(point string) {
			if !w.nested && rapid.IntRange(0, 9).Draw(rt, "meanwhile") == 0 {
				w.nested = true
				from := 1
				if point == "handover.held" { // where the keeper itself goes on renewing
					from = 0
				}
				w.step(rt, (i+rapid.IntRange(from, 2).Draw(rt, "who else"))%3)
				w.nested = false
			}
		}})
	if w.dir.tier != tierA {
		r.gate.gate.name, r.gate.turn.name = fmt.Sprintf("gate%d", i), fmt.Sprintf("turn%d", i)
	}
	w.rigs = append(w.rigs, r)
	return r
}

func (w *world) step(rt *rapid.T, i int) {
	r := w.rigs[i]
	holder := person("p", i*10+rapid.IntRange(0, 1).Draw(rt, "holder"))
	// Refusals are right answers here: only the invariants matter.
	switch op := rapid.SampledFrom([]string{"acquire", "acquire", "steal", "renew", "tick", "release", "replace", "handover", "offer", "look", "look", "clock", "clock",
		"step", "crash", "unlink", "sweep", "stopped", "alive", "gone"}).Draw(rt, "op"); op {
	case "acquire":
		r.Acquire(bg, holder)
	case "steal":
		r.Steal(bg, holder)
	case "renew":
		r.Renew(bg)
	case "tick":
		r.tick()
	case "release":
		r.Release(bg, LossReleased)
	case "replace":
		if g, ok := r.Held(); ok {
			r.Replace(bg, g.Token, holder)
		}
	case "handover":
		if g, ok := r.Held(); ok {
			r.Handover(bg, g.Token, holder, nil)
		}
	case "offer":
		w.offer(rt, i)
	case "look":
		w.look(rt, i)
	case "clock":
		w.clock.advance(time.Duration(rapid.IntRange(1, 40000).Draw(rt, "ms")) * time.Millisecond)
	case "step":
		w.clock.stepWall(time.Duration(rapid.IntRange(-60, 60).Draw(rt, "s")) * time.Second)
	case "crash":
		r.fence.Close(Loss{}) // its writers die with it
		r.crash()
		delete(w.offers, i)
	case "unlink":
		unix.Unlinkat(w.dir.fd, "main.lock", 0)
	case "sweep":
		w.sweep(rt)
	default:
		r.live = map[string]Liveness{"stopped": Stopped, "alive": Alive, "gone": Gone}[op]
	}
	w.check(rt, w)
}

// offer and look are OfferTo in two parts, so that other steps come between its looks.
func (w *world) offer(rt *rapid.T, i int) {
	r := w.rigs[i]
	g, ok := r.Held()
	if _, offers := w.offers[i]; !ok || offers {
		return
	}
	away, err := r.give(bg, g.Token, Holder{Host: "h"})
	if err != nil {
		return
	}
	thaw, err := away.freeze(bg)
	if err != nil {
		return
	}
	by := r.cfg.Clock.Wall().Add(time.Duration(rapid.IntRange(1, 60).Draw(rt, "offer lasts")) * time.Second)
	s := standingOffer{away, offer{"h", by}}
	if err := s.putUp(bg); err != nil {
		thaw()
		return
	}
	w.offers[i] = standing{s, thaw}
}

func (w *world) look(rt *rapid.T, i int) {
	o, offers := w.offers[i]
	if !offers {
		return
	}
	if _, done, _ := o.offer.lookForTaker(rapid.Bool().Draw(rt, "withdraw")); done {
		o.thaw()
		delete(w.offers, i)
	}
}

// sweep removes every claim but the highest.
func (w *world) sweep(rt *rapid.T) {
	s := w.dir.Store("main")
	top, err := s.highest()
	names, err2 := w.dir.names()
	if err != nil || err2 != nil {
		rt.Fatal(err, err2)
	}
	for _, name := range names {
		if strings.Contains(name, ".claim.") && name != s.claimName(top) {
			unix.Unlinkat(w.dir.fd, name, 0)
		}
	}
}

// somebodyCanAcquire: if all have crashed, somebody can acquire after a while. It takes two silences, because the files are stamped by
// another clock than the injected one.
func (w *world) somebodyCanAcquire(rt *rapid.T) {
	for _, r := range w.rigs {
		r.fence.Close(Loss{})
		r.crash()
	}
	w.nested = true // nobody comes between any more
	w.clock.advance(24 * time.Hour)
	r := w.add(rt, 0)
	defer r.Close()
	for range 4 {
		if _, err := r.Acquire(bg, ann); err == nil {
			return
		}
		w.clock.advance(34 * time.Second)
	}
	_, err := r.Acquire(bg, ann)
	rt.Fatalf("nobody can acquire any more: %v", err)
}
