package main

import (
	"fmt"
	"os"
	"time"
)

// mutants are rules that are switched off to see that the checker notices.
var mutants = []struct {
	name, tier string
	off        []string
	focus      string // where to pause more often than elsewhere
	what       string
}{
	{"no_drain", "a", []string{"drain"}, "", "Close does not wait for what is in flight"},
	{"no_gate", "a", []string{"gate"}, "", "no flock: a paused writer is not waited for"},
	{"literal_steal", "a", []string{"steal"}, "", "the spec's steal: read, check, rename"},
	{"no_claim", "c", []string{"claim"}, "", "the token's name may be taken twice"},
	{"late_count", "a", []string{"count"}, "enter.before_count", "a write is let in before it is counted in flight"},
	{"no_audit", "a", []string{"audit"}, "", "a steal happens although its audit event cannot be written"},
	{"no_deadline", "c", []string{"deadline"}, "renew.before_write", "the holder does not look at its own deadline"},
	{"literal_renew", "c", []string{"renew"}, "renew.before_write", "the spec's renewal: read, check, rename over whatever is there"},
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
