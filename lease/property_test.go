package lease

import (
	"fmt"
	"path/filepath"
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

// TestAnyInterleaving: keepers of one kernel, with any wall clocks, pauses (a keeper that gets no tick), crashes and deletions of
// the view. Tokens strictly grow, and never are two fences open.
func TestAnyInterleaving(t *testing.T) {
	base, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		d, err := OpenDir(filepath.Join(base, fmt.Sprint(n)))
		if err != nil {
			rt.Fatal(err)
		}
		defer d.Close()
		clock, last := newFakeClock(), Token(0)
		rigs := make([]*rig, 3)
		for i := range rigs {
			off := time.Duration(rapid.IntRange(-90, 90).Draw(rt, "wall offset")) * time.Second
			rigs[i] = propertyRig(rt, d, offClock{clock, off}, &last)
			defer func() { rigs[i].Close() }()
		}
		for range rapid.IntRange(5, 25).Draw(rt, "steps") {
			i := rapid.IntRange(0, 2).Draw(rt, "who")
			propertyStep(rt, d, clock, rigs[i], i)
			open := 0
			for _, r := range rigs {
				if r.fence.isOpen() {
					open++
				}
			}
			if open > 1 {
				rt.Fatalf("%d fences are open", open)
			}
		}
	})
}

func propertyRig(rt *rapid.T, d *Dir, c offClock, last *Token) *rig {
	r := &rig{fence: &fakeFence{clock: c}}
	r.fence.onOpen = func(g Grant) {
		reopened := g.Token == r.fence.grant.Token && g.Token == *last
		if g.Token <= *last && !reopened {
			rt.Fatalf("token %d after %d", g.Token, *last)
		}
		*last = g.Token
	}
	r.Keeper = NewKeeper(KeeperConfig{Store: d.Store("main"), Clock: c, Fence: r.fence, GateWait: time.Millisecond})
	return r
}

func propertyStep(rt *rapid.T, d *Dir, clock *fakeClock, r *rig, i int) {
	holder := person("p", i*10+rapid.IntRange(0, 1).Draw(rt, "holder"))
	// Refusals are right answers here: only the invariants matter.
	switch op := rapid.SampledFrom([]string{"acquire", "acquire", "steal", "renew", "tick", "release", "replace", "clock", "clock",
		"step", "crash", "unlink"}).Draw(rt, "op"); op {
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
	case "clock":
		clock.advance(time.Duration(rapid.IntRange(1, 40000).Draw(rt, "ms")) * time.Millisecond)
	case "step":
		clock.stepWall(time.Duration(rapid.IntRange(-60, 60).Draw(rt, "s")) * time.Second)
	case "crash":
		r.fence.Close(Loss{}) // its writers die with it
		r.crash()
	case "unlink":
		unix.Unlinkat(d.fd, "main.lock", 0)
	}
}
