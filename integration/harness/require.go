package harness

import (
	"errors"
	"os"
	"testing"
)

// RequireRoot stops a test that mounts or changes owners. It fails instead of
// skipping where a mount ought to be possible: a suite that skips everything
// looks green.
func RequireRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	giveUp(t, "needs root")
}

func RequireFuse(t testing.TB) {
	t.Helper()
	RequireRoot(t)
	if _, err := os.Stat("/dev/fuse"); err != nil {
		giveUp(t, "needs /dev/fuse")
	}
}

func giveUp(t testing.TB, why string) {
	t.Helper()
	_, err := os.Stat("/dev/fuse")
	if os.Getenv("JVSFS_REQUIRE_FUSE") == "1" || !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s, and a skip is not accepted here", why)
	}
	t.Skip(why)
}
