package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// mutants are rules that are switched off to see that the checker notices, each in histories that have only the operations that it
// takes: whatever else is found must not pass for it.
var mutants = []struct {
	name, tier string
	off        []string
	focus      string // where to pause more often than elsewhere
	takes      []string
	what       string
}{
	{"no_drain", "a", []string{"drain"}, "", nil, "Close does not wait for what is in flight"},
	{"no_gate", "a", []string{"gate"}, "", nil, "no flock: a paused writer is not waited for"},
	{"literal_steal", "a", []string{"steal"}, "", nil, "the spec's steal: read, check, rename"},
	{"no_claim", "c", []string{"claim"}, "", nil, "the token's name may be taken twice"},
	{"late_count", "a", []string{"count"}, "enter.before_count", nil, "a write is let in before it is counted in flight"},
	{"no_audit", "a", []string{"audit"}, "", nil, "a steal happens although its audit event cannot be written"},
	{"no_deadline", "c", []string{"deadline"}, "renew.before_write", nil, "the holder does not look at its own deadline"},
	{"literal_renew", "c", []string{"renew"}, "renew.before_write", nil, "the spec's renewal: read, check, rename over whatever is there"},
	{"no_hold", "a", []string{"hold"}, "admitted.Write", []string{opHandover}, "a handover does not wait for what is in flight"},
	{"no_hold_offer", "c", []string{"hold"}, "admitted.Write", []string{opOffer}, "an offer does not wait for what is in flight"},
	{"no_switch", "a", []string{"switch"}, "admitted.Write", []string{opSwitch}, "a stricter mode does not wait for what is in flight"},
	{"no_permission", "a", []string{"permission"}, "", []string{opStranger}, "who may not write may take the lease by a chown of nothing"},
}

// slower are the same times, so often as long.
func (p policy) slower(by int) policy {
	return policy{p.LeaseMS * by, p.RenewMS * by, p.SkewMS * by, p.GraceMS * by}
}

// busy is by how much times must be longer for leases to be of use: where everything waits for a processor a short one is over
// before its holder knows of it, and nothing that could be wrong is ever done.
func busy() int {
	b, err := os.ReadFile("/proc/loadavg")
	var load float64
	if err == nil {
		_, _ = fmt.Sscan(string(b), &load)
	}
	return 1 + min(3, int(load)/(16*runtime.NumCPU()))
}

func runMutants(o options) int {
	code := 0
	for _, m := range mutants {
		o.mutant = m.name
		if runMutant(o) != 0 {
			code = 1
		}
	}
	return code
}

// runMutant runs until the mutant is caught.
func runMutant(o options) int {
	for _, m := range mutants {
		if m.name != o.mutant {
			continue
		}
		o.tier, o.off, o.focus, o.untilCaught = m.tier, m.off, m.focus, true
		o.without = slices.DeleteFunc(slices.Clone(operations), func(op string) bool { return slices.Contains(m.takes, op) })
		o.policy = o.slower(busy())
		if slices.Contains(m.takes, opStranger) {
			o.onFree = "acquire"
		}
		r := runAll(o)
		if o.verbose {
			r.sum().print(os.Stdout, true)
		}
		took := time.Since(r.began).Round(time.Second)
		switch {
		case r.broken != nil:
			fmt.Println("the run failed:", r.broken)
			return 1
		case r.violations() == 0:
			fmt.Printf("mutant %-14s NOT CAUGHT in %d histories, %s (%s)\n", m.name, r.count("histories"), took, m.what)
			return 1
		}
		fmt.Printf("mutant %-14s caught in history %d after %s by: %s (%s)\n", m.name, r.count("histories"), took, r.kinds(), m.what)
		return 0
	}
	fmt.Fprintln(os.Stderr, "torture: no such mutant:", o.mutant)
	return 2
}
