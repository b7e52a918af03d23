package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// mutant is a rule that is broken to see that the checker notices, in histories that have only the operations that it takes: whatever
// else is found must not pass for it.
type mutant struct {
	name, tier string
	lacks      []string // as the store of tier C does
	edits      []edit   // laid over the source, as scripts/mutations.sh does it
	focus      string   // where to pause more often than elsewhere
	takes      []string
	quick      bool // caught within seconds, so scripts/test.sh tries it each time
	what       string
}

var mutants = []mutant{
	{"no_drain", "a", nil, noDrain, "", nil, true, "Close does not wait for what is in flight"},
	{"no_gate", "a", []string{plan.LockManager}, nil, "", nil, true, "no flock: a paused writer is not waited for"},
	{"literal_steal", "a", nil, literalSteal, "", nil, true, "the spec's steal: read, check, rename"},
	{"no_claim", "c", nil, literalClaim, "", nil, true, "the token's name may be taken twice"},
	{"late_count", "a", nil, lateCount, "enter.before_count", nil, true, "a write is let in before it is counted in flight"},
	{"no_audit", "a", nil, noAudit, "", nil, false, "a steal happens although its audit event cannot be written"},
	{"no_deadline", "c", nil, noDeadline, "renew.before_write", nil, false, "the holder does not look at its own deadline"},
	{"literal_renew", "c", nil, literalRenew, "renew.before_write", nil, false, "the spec's renewal: read, check, rename over whatever is there"},
	{"no_hold", "a", nil, noFreeze, "admitted.Write", []string{opHandover}, true, "a handover does not wait for what is in flight"},
	{"no_hold_offer", "c", nil, noFreeze, "admitted.Write", []string{opOffer}, false, "an offer does not wait for what is in flight"},
	{"no_switch", "a", nil, noSwitch, "admitted.Write", []string{opSwitch}, true, "a stricter mode does not wait for what is in flight"},
	{"old_handles", "a", nil, oldHandles, "", nil, true, "what was opened under a lost lease goes on under the holder's next one"},
	{"no_permission", "a", nil, noPermission, "", []string{opStranger}, false, "who may not write may take the lease by a chown of nothing"},
}

// slower are the same times, so often as long.
func (p policy) slower(by int) policy {
	return policy{p.LeaseMS * by, p.RenewMS * by, p.SkewMS * by, p.GraceMS * by}
}

// busy is by how much times must be longer, and the time for a mutant with them, for leases to be of use: where everything waits for a processor a short one is over
// before its holder knows of it, and nothing that could be wrong is ever done.
func busy() int {
	b, err := os.ReadFile("/proc/loadavg")
	var load float64
	if err == nil {
		_, _ = fmt.Sscan(string(b), &load)
	}
	return 1 + min(3, int(load)/(16*runtime.NumCPU()))
}

// runMutants runs the mutants that are asked for, each until it is caught.
func runMutants(o options) int {
	var asked []mutant
	for i, m := range mutants {
		if o.mutant == m.name || o.mutant == "" && o.part.Has(i) && (!o.quick || m.quick) {
			asked = append(asked, m)
		}
	}
	if len(asked) == 0 {
		fmt.Fprintln(os.Stderr, "torture: no such mutant:", o.mutant)
		return 2
	}
	dir, err := os.MkdirTemp("", "jvsfs-mutant-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // of the temporary directory
	if o.jvsfs, err = buildMutants(o.root, dir); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		return 1
	}
	code := breaksUnasked(o)
	for _, m := range asked {
		if m.judge(o) != 0 {
			code = 1
		}
	}
	return code
}

// breaksUnasked runs the mutants' program for a round of histories as none of them: what it breaks then would pass for each.
func breaksUnasked(o options) int {
	o.mutant, o.limit, o.policy = "", o.length, o.slower(busy())
	if err := os.Setenv(plan.BrokenEnv, ""); err != nil {
		fmt.Println("the run failed:", err)
		return 1
	}
	r := runAll(o)
	switch {
	case r.broken != nil:
		fmt.Println("the run failed:", r.broken)
		return 1
	case r.violations() > 0:
		fmt.Printf("no mutant             and yet, in %d histories: %s\n", r.count("histories"), r.kinds())
		return 1
	}
	fmt.Printf("no mutant             breaks nothing in %d histories\n", r.count("histories"))
	return 0
}

func (m mutant) judge(o options) int {
	o.mutant, o.tier, o.lacks, o.focus, o.untilCaught = m.name, m.tier, m.lacks, m.focus, true
	o.without = slices.DeleteFunc(slices.Clone(operations), func(op string) bool { return slices.Contains(m.takes, op) })
	by := busy()
	o.policy, o.limit = o.slower(by), o.limit*time.Duration(by)
	if err := os.Setenv(plan.BrokenEnv, m.name); err != nil {
		fmt.Println("the run failed:", err)
		return 1
	}
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
