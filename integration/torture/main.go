// Torture runs several jvsfs daemons, each a "host" of its own, over one backing directory, with several writers on each, and
// does to them whatever a bad year would. A checker that knows nothing of jvsfs's own counters then decides by what landed on
// the backing store, and by what the writers were told. See scripts/torture.sh.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if len(os.Args) == 3 && (os.Args[1] == "host" || os.Args[1] == "worker") {
		if err := role(os.Args[1], []byte(os.Args[2])); err != nil {
			fmt.Fprintf(os.Stderr, "torture %s: %v\n", os.Args[1], err)
			os.Exit(1)
		}
		return
	}
	os.Exit(command())
}

func role(name string, cfg []byte) error {
	if name == "worker" {
		var c workerConfig
		if err := json.Unmarshal(cfg, &c); err != nil {
			return err
		}
		return runWorker(c)
	}
	var c hostConfig
	if err := json.Unmarshal(cfg, &c); err != nil {
		return err
	}
	return runHost(c)
}

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
	{"no_deadline", "c", []string{"deadline"}, "renew.before_write", "the holder does not look at its own deadline"},
	{"literal_renew", "c", []string{"renew"}, "renew.before_write", "the spec's renewal: read, check, rename over whatever is there"},
}

// tierC switches off what a store that other hosts write to does not have.
var tierC = []string{"gate", "local"}

func command() int {
	o := options{policy: policy{LeaseMS: 300, RenewMS: 80, SkewMS: 40, GraceMS: 20}}
	var minutes float64
	var all bool
	flag.Float64Var(&minutes, "minutes", 2, "how long to run; with -mutants at most so long for each")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "what the faults are drawn from")
	flag.StringVar(&o.tier, "tier", "both", "a: one machine; c: no lock manager, clocks apart; both: three histories of four are of tier a")
	flag.StringVar(&o.mutant, "mutant", "", "switch a rule off: it must be caught")
	flag.BoolVar(&all, "mutants", false, "every mutant must be caught")
	flag.StringVar(&o.jvsfs, "jvsfs", "", "jvsfs, built with -tags jvsfs_torture")
	flag.StringVar(&o.dir, "dir", "/var/tmp", "a directory on a real disk")
	flag.IntVar(&o.hosts, "hosts", 3, "daemons of a history")
	flag.IntVar(&o.writers, "writers", 2, "writers of a host")
	flag.IntVar(&o.parallel, "parallel", 3, "histories at a time; they wait more than they work")
	flag.DurationVar(&o.length, "length", 8*time.Second, "of a history")
	flag.BoolVar(&o.verbose, "v", false, "a line for each history")
	flag.BoolVar(&o.noFaults, "no-faults", false, "only the writers, no enemy")
	flag.Parse()
	if flag.NArg() > 0 || o.jvsfs == "" {
		flag.Usage()
		return 2
	}
	o.limit = time.Duration(minutes * float64(time.Minute))
	if all {
		return runMutants(o)
	}
	if o.mutant != "" {
		return runMutant(o)
	}
	r := runAll(o)
	r.print(os.Stdout)
	if r.violations() > 0 || r.histories == 0 {
		return 1
	}
	return 0
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
		began := time.Now()
		r := runAll(o)
		if o.verbose {
			r.print(os.Stdout)
		}
		if r.broken != nil {
			fmt.Println("the run failed:", r.broken)
			return 1
		}
		if r.violations() == 0 {
			fmt.Printf("mutant %-14s NOT CAUGHT in %d histories, %s (%s)\n", m.name, r.histories, time.Since(began).Round(time.Second), m.what)
			return 1
		}
		fmt.Printf("mutant %-14s caught in history %d after %s by: %s (%s)\n", m.name, r.histories, time.Since(began).Round(time.Second), r.kinds(), m.what)
		return 0
	}
	fmt.Fprintln(os.Stderr, "torture: no such mutant:", o.mutant)
	return 2
}
