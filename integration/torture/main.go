// Torture runs several jvsfs daemons, each a "host" of its own, over one backing directory, with several
// writers on each, and injects the faults of a bad year. A checker, which does not use jvsfs's own counters,
// decides by what landed on the backing store and by the answers that the writers got. See scripts/torture.sh.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/integration/operation"
	"github.com/jvsfs/jvsfs/integration/part"
	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

func main() {
	if len(os.Args) == 3 {
		if run := role(os.Args[1]); run != nil {
			if err := run([]byte(os.Args[2])); err != nil {
				fmt.Fprintf(os.Stderr, "torture %s: %v\n", os.Args[1], err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(command())
}

// role is what a process does that the torture test has started.
func role(name string) func(cfg []byte) error {
	switch name {
	case "host":
		return as(runHost)
	case "worker":
		return as(runWorker)
	case "intruder":
		return as(intruder.run)
	case "roamer":
		return as(func(r roamerConfig) error { return runRoamer(&roamer{roamerConfig: r}) })
	case "stranger":
		return func([]byte) error { return operation.Serve(os.Stdin, os.Stdout) }
	case "freeze":
		return as(freezing.run)
	}
	return nil
}

func as[C any](run func(C) error) func([]byte) error {
	return func(text []byte) error {
		var c C
		if err := json.Unmarshal(text, &c); err != nil {
			return err
		}
		return run(c)
	}
}

// tierC is what a store that other hosts write to does not have.
var tierC = []string{plan.LockManager, plan.LocalDisk}

func command() int {
	o := options{policy: policy{LeaseMS: 300, RenewMS: 80, SkewMS: 40, GraceMS: 20}}
	var minutes float64
	var all, sum bool
	flag.Float64Var(&minutes, "minutes", 2, "how long to run; with -mutants at most so long for each")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "what the faults are drawn from")
	flag.StringVar(&o.tier, "tier", "both", "a: one machine; c: no lock manager, clocks apart; both: three histories of four are of tier a")
	flag.StringVar(&o.mutant, "mutant", "", "switch a rule off: it must be caught")
	flag.BoolVar(&all, "mutants", false, "every mutant must be caught")
	flag.TextVar(&o.part, "part", part.Part{I: 1, N: 1}, "of the mutants only each Nth, beginning with the Ith: `I/N`")
	flag.BoolVar(&o.quick, "quick", false, "of the mutants only those that are caught within seconds")
	flag.StringVar(&o.json, "json", "", "also write the figures to this file")
	flag.BoolVar(&sum, "sum", false, "only add up the figures of the files that follow")
	flag.StringVar(&o.jvsfs, "jvsfs", "", "jvsfs, built with -tags jvsfs_torture")
	flag.StringVar(&o.root, "root", ".", "the module, of which mutants are built")
	flag.StringVar(&o.dir, "dir", "/var/tmp", "a directory on a real disk")
	flag.IntVar(&o.slow, "slower", 1, "leases last `N` times as long, and so does the patience with writers: for an emulated machine")
	flag.IntVar(&o.hosts, "hosts", 3, "daemons of a history")
	flag.IntVar(&o.writers, "writers", 2, "writers of a worktree on a host")
	flag.IntVar(&o.parallel, "parallel", 4, "histories at a time; each needs half a processor: with too many leases end before anything is done under them")
	flag.DurationVar(&o.length, "length", 10*time.Second, "of a history")
	flag.BoolVar(&o.verbose, "v", false, "a line for each history, and faults by point")
	flag.BoolVar(&o.noFaults, "no-faults", false, "only the writers, no enemy")
	flag.Var(&o.theme, "theme", "only histories of this theme: "+themeNames())
	flag.Func("without", "leave these operations out, by commas: "+strings.Join(operations, ", "), o.leaveOut)
	flag.Parse()
	o.tier = strings.ToLower(o.tier)
	switch {
	case sum && flag.NArg() > 0:
		return sumFiles(flag.Args(), o.json)
	case sum || flag.NArg() > 0 || o.slow < 1 || o.jvsfs == "" || !strings.Contains(" a c both ", " "+o.tier+" "):
		flag.Usage()
		return 2
	}
	o.limit, o.policy = time.Duration(minutes*float64(time.Minute)), o.slower(o.slow)
	switch {
	case all, o.mutant != "":
		return runMutants(o)
	}
	return runOnce(o)
}

func runOnce(o options) int {
	f := runAll(o).sum()
	f.print(os.Stdout, o.verbose)
	if o.json != "" {
		if err := f.save(o.json); err != nil {
			fmt.Fprintln(os.Stderr, "torture:", err)
			return 1
		}
	}
	if !f.clean() {
		return 1
	}
	return 0
}
