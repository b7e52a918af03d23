package harness

import (
	"fmt"
	"os"
	"testing"
)

// actorEnv marks a re-execution of the test binary as an actor process.
const actorEnv = "JVSFS_TEST_ACTOR"

func Main(m *testing.M) {
	if os.Getenv(actorEnv) != "" {
		os.Exit(actorMain(os.Stdin, os.Stdout))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	var err error
	Scratch, err = os.MkdirTemp(diskDir(), "jvsfs-it-")
	if err == nil {
		// Actors under other uids must be able to walk in.
		err = os.Chmod(Scratch, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration: no scratch directory:", err)
		return 1
	}
	code := m.Run()
	if err := removeScratch(); err != nil {
		fmt.Fprintln(os.Stderr, "integration: scratch directory stays:", err)
		return 1
	}
	return code
}
