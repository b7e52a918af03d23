package main

import (
	"os"
	"slices"
	"testing"

	"github.com/hanwen/go-fuse/v2/posixtest"

	"github.com/jvsfs/jvsfs/integration/conformance/cases"
)

// dirEnv names the directory to test; without it the tests run in a temporary one,
// where they must pass.
const dirEnv = "CONFORMANCE_DIR"

func directory(t *testing.T) string {
	t.Helper()
	parent := os.Getenv(dirEnv)
	if parent == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(parent, "posix-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// unfit are checks that a plain directory does not pass: they want locks between
// descriptors of one process, and a server that is not fooled by symlinks.
var unfit = []string{"FcntlFlockLocksFile", "OpenSymlinkRace"}

// TestPosix is go-fuse's own suite.
func TestPosix(t *testing.T) {
	for name, check := range posixtest.All {
		if os.Getenv(dirEnv) == "" && slices.Contains(unfit, name) {
			continue
		}
		t.Run(name, func(t *testing.T) { check(t, directory(t)) })
	}
}

// TestCasesAreSteady: two plain directories give the same notes, or the comparison
// with a mount would blame it for noise.
func TestCasesAreSteady(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the cases change owners")
	}
	which := cases.Sample(4)
	one, two := outcomes(directory(t), which), outcomes(directory(t), which)
	for name, notes := range one {
		if notes != two[name] {
			t.Errorf("%s:\n%s\n%s", name, notes, two[name])
		}
	}
}

func outcomes(dir string, which []cases.Case) table {
	all := make(table)
	cases.Run(dir, which, 8, func(o cases.Outcome) { all[o.Case] = o.Notes })
	return all
}

// TestNamesAreUnique: an outcome is found by its name.
func TestNamesAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range cases.All() {
		if seen[c.Name] {
			t.Errorf("twice: %s", c.Name)
		}
		seen[c.Name] = true
	}
}
