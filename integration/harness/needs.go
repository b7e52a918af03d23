package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// lacking is what this machine, or who runs the tests, does not have: "" for nothing.
func lacking() string {
	switch _, err := exec.LookPath("unshare"); {
	case os.Geteuid() != 0:
		return "root"
	case !exists("/dev/fuse"):
		return "/dev/fuse (modprobe fuse; in a container --device /dev/fuse)"
	case err != nil:
		return "unshare(1) of util-linux"
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// leaveOut says once for the whole package what it needs, and returns the exit code.
// That is a failure, for a suite that skips everything looks green; with -short it is
// asked for, unless JVSFS_REQUIRE_FUSE forbids it.
func leaveOut(why string) int {
	dir, _ := os.Getwd() // for the message alone
	fmt.Fprintf(os.Stderr, "integration/%s needs %s; go test -short ./... leaves it out\n", filepath.Base(dir), why)
	if testing.Short() && os.Getenv("JVSFS_REQUIRE_FUSE") != "1" {
		return 0
	}
	return 1
}
