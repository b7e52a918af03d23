// Command mutation removes the rules of the lease protocol one clause at a time, and demands that a test notices each removal.
//
// If no test fails without a rule, the rule is not tested, whatever the coverage says. The mutations are a
// table (table_*.go): a snippet of the source, its replacement, and the tests that must fail then. The tree
// itself is not changed: `go test -overlay` uses a mutated copy. Only a failed test counts. A mutant that does
// not compile proves nothing; one that hangs counts if its table entry foretells that. The same tests must pass
// unmutated.
//
// The other half of the argument is scripts/torture.sh --mutants, which runs daemons whose rules are broken in the same way.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/jvsfs/jvsfs/integration/part"
)

func main() {
	r := runner{out: os.Stdout}
	flag.IntVar(&r.rule, "rule", 0, "only the mutations of this `RULE` (1 to 18)")
	flag.StringVar(&r.what, "what", "", "only the mutations whose line contains this `TEXT`")
	flag.TextVar(&r.part, "part", part.Part{I: 1, N: 1}, "only each Nth mutation, beginning with the Ith: `I/N`")
	flag.IntVar(&r.jobs, "jobs", 2, "how `MANY` at a time")
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
