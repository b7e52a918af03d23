package harness

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// lacking is what the machine, or who runs the tests, lacks for them, in one sentence;
// "" for nothing.
func lacking() string {
	_, noUnshare := exec.LookPath("unshare")
	_, noFuse := os.Stat("/dev/fuse")
	switch {
	case os.Geteuid() != 0:
		return "these tests mount file systems and change owners: they need root"
	case noFuse != nil:
		return "these tests mount file systems: they need /dev/fuse (modprobe fuse, or give the container the device)"
	case noUnshare != nil:
		return "these tests run in namespaces of their own: they need unshare(1) of util-linux"
	}
	return ""
}

// leaveOut says once for the whole package what it needs, before any test has failed, and returns the exit
// code. That is a failure, because a suite that skips everything looks green. It is no failure with -short, or
// with JVSFS_REQUIRE_FUSE=0 (there is nothing to mount with).
func leaveOut(what string) int {
	fmt.Fprintf(os.Stderr, "integration: %s\n  everything:  scripts/test.sh\n  these tests: sudo env PATH=\"$PATH\" go test ./integration/...\n"+
		"  the rest:    go test -short ./...\n", what)
	switch os.Getenv("JVSFS_REQUIRE_FUSE") {
	case "0":
		return 0
	case "1":
		return 1
	}
	if testing.Short() {
		return 0
	}
	return 1
}
