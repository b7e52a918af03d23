package fidelity

import (
	"os"
	"strconv"
	"testing"

	"github.com/jvsfs/jvsfs/integration/conformance/cases"
	"github.com/jvsfs/jvsfs/integration/harness"
)

// TestEveryCaseIsTheSameNativelyAndForTheHolder takes a sample of the cases of scripts/conformance.sh: what a call
// answers, and what it leaves, is the same natively and for the holder of the mount.
func TestEveryCaseIsTheSameNativelyAndForTheHolder(t *testing.T) {
	heldByThisProcess(t).RequireFidelity(t, cases.Sample(4))
}

// heldByThisProcess returns a mount whose lease the test's own process holds.
func heldByThisProcess(t *testing.T) *harness.Mount {
	t.Helper()
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	m.MustCLI("lock", "acquire", m.Mountpoint, "--pid", strconv.Itoa(os.Getpid()))
	return m
}
