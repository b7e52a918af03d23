package harness

import (
	"os"
	"testing"
)

// InContainer reports whether the stories run in a container of scripts/container-test.sh.
func InContainer() bool { return os.Getenv("JVSFS_TEST_CONTAINER") != "" }

// NotInContainer leaves a story out of scripts/container-test.sh, for what a container does not have.
// The script knows these by their words, and lets no other story be skipped.
func NotInContainer(t *testing.T, lacks string) {
	t.Helper()
	if InContainer() {
		t.Skip("left out in a container, which has no " + lacks)
	}
}
