// Conformance runs the cases in a directory, and compares what two directories gave.
//
//	conformance list [--quick] [--only PATTERN]
//	conformance run [--quick] [--only PATTERN] DIR       prints "CASE<TAB>OUTCOME" lines
//	conformance tree DIR FILES                           makes that many empty files
//	conformance limits JVSFS MOUNTPOINT FILES            walks such a tree and watches the daemon
//	conformance compare [--all] NATIVE MOUNT EXCEPTIONS  compares two files of such lines
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/jvsfs/jvsfs/integration/conformance/cases"
)

func main() {
	if len(os.Args) < 2 {
		wrongUse()
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	quick := flags.Bool("quick", false, "leave the slow cases out")
	only := flags.String("only", "*", "only cases whose name matches; * stands for anything")
	all := flags.Bool("all", false, "print the cases that are alike as well")
	_ = flags.Parse(os.Args[2:])
	switch {
	case os.Args[1] == "list" && flags.NArg() == 0:
		for _, c := range chosen(*quick, *only) {
			fmt.Println(c.Name)
		}
	case os.Args[1] == "run" && flags.NArg() == 1:
		check(run(flags.Arg(0), chosen(*quick, *only)))
	case os.Args[1] == "compare" && flags.NArg() == 3:
		os.Exit(compare(flags.Arg(0), flags.Arg(1), flags.Arg(2), *all))
	case os.Args[1] == "tree" && flags.NArg() == 2:
		files, err := strconv.Atoi(flags.Arg(1))
		check(err)
		check(makeTree(flags.Arg(0), files))
	case os.Args[1] == "limits" && flags.NArg() == 3:
		files, err := strconv.Atoi(flags.Arg(2))
		check(err)
		check(limits(flags.Arg(0), flags.Arg(1), files, 3))
	default:
		wrongUse()
	}
}

func wrongUse() {
	fmt.Fprintln(os.Stderr, "usage: conformance list|run|tree|limits|compare [--quick] [--only PATTERN] [--all] [ARG...]")
	os.Exit(2)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func chosen(quick bool, only string) (which []cases.Case) {
	for _, c := range cases.All() {
		if quick && c.Slow || !cases.Matches(only, c.Name) {
			continue
		}
		which = append(which, c)
	}
	return which
}

func run(dir string, which []cases.Case) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	cases.Run(dir, which, 4*runtime.NumCPU(), func(o cases.Outcome) {
		if err == nil {
			_, err = fmt.Printf("%s\t%s\n", o.Case, cases.Printable(o.Notes))
		}
	})
	return err
}

// compare returns the exit code.
func compare(native, mount, exceptions string, all bool) int {
	n, err := readTable(native)
	check(err)
	m, err := readTable(mount)
	check(err)
	excused, err := cases.ReadExceptions(exceptions)
	check(err)
	total := report(os.Stdout, n, m, excused, all)
	bad := total.differ - total.excepted
	fmt.Printf("\n%d cases, %d differ, %d of them excepted\n", total.cases, total.differ, total.excepted)
	if bad > 0 || total.cases == 0 {
		return 1
	}
	return 0
}
