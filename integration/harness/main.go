package harness

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
)

// actorEnv marks a re-execution of the test binary as an actor process.
const actorEnv = "JVSFS_TEST_ACTOR"

// Main is the TestMain of every package of stories. An actor is the same binary
// once more.
func Main(m *testing.M) {
	if os.Getenv(actorEnv) != "" {
		os.Exit(actorMain(os.Stdin, os.Stdout))
	}
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run())
	}
	if why := lacking(); why != "" {
		os.Exit(leaveOut(why))
	}
	if err := enterNamespaces(); err != nil {
		fmt.Fprintln(os.Stderr, "integration: no namespaces of its own:", err)
		os.Exit(1)
	}
	undoIgnored()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	if err := leaveMountsOfOthers(); err != nil {
		fmt.Fprintln(os.Stderr, "integration: mounts that were there before stay:", err)
		return 1
	}
	var err error
	Scratch, err = os.MkdirTemp(diskDir(), "jvsfs-it-")
	if err == nil {
		// Actors under other uids must be able to walk in.
		err = errors.Join(os.Chmod(Scratch, 0o755), makeBin())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration: no scratch directory:", err)
		return 1
	}
	code := m.Run()
	if err := nothingStays(); err != nil {
		fmt.Fprintln(os.Stderr, "integration: left by the tests:", err)
		code = 1
	}
	if err := removeScratch(); err != nil {
		fmt.Fprintln(os.Stderr, "integration: scratch directory stays:", err)
		code = 1
	}
	return code
}
