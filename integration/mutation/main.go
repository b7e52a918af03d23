// Command mutation removes the rules of the lease protocol one clause at a time, and demands that a test notices each removal.
//
// If no test fails without a rule, the rule is not tested, whatever the coverage says. The mutations are a
// table (table_*.go): a snippet of the source, its replacement, and the tests that must fail then. The tree
// itself is not changed: `go test -overlay` uses mutated copies. Only a failed test counts. A mutant that does
// not compile proves nothing; one that hangs counts if its table entry foretells that. The same tests must pass
// unmutated.
//
// All mutants are built at once. A copy of a file has each function that a mutation changes as it is and in each mutated form,
// and a variable says which one runs; it is read from JVSFS_MUTANT in the environment, which the tests of a mutant are started with.
// What a program of theirs with an environment of its own does is not mutated. The unmutated run has every such function run its own
// code in the form of a mutant, so no test fails for that form. A mutation that changes more than the bodies of
// functions and the values of variables has a build of its own, as has one that does not compile among the others; the end of the
// output names them.
//
// The other half of the argument is scripts/torture.sh --mutants, which runs daemons whose rules are broken in the same way.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/jvsfs/jvsfs/integration/part"
)

func main() {
	r := runner{out: os.Stdout}
	flag.IntVar(&r.rule, "rule", 0, "only the mutations of this `RULE` (1 to 18)")
	flag.StringVar(&r.what, "what", "", "only the mutations whose line contains this `TEXT`")
	flag.TextVar(&r.part, "part", part.Part{I: 1, N: 1}, "only each Nth mutation, beginning with the Ith: `I/N`")
	flag.IntVar(&r.jobs, "jobs", 4*runtime.NumCPU(), "how `MANY` at a time: their tests mostly wait")
	flag.StringVar(&r.root, "root", ".", "the module's `DIRECTORY`")
	flag.BoolVar(&r.keep, "verbose", false, "print what the tests said, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := r.run(ctx, allMutations()); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}
