package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Scratch is the directory of everything this run makes: the binary and one
// directory per mount. On a disk, because tmpfs lacks xattrs and flags that
// the rows need.
var Scratch string

// removeScratch refuses to delete through a mount that a test left behind:
// the tree below it may be somebody's bind view of another.
func removeScratch() error {
	_ = unix.Unmount(filepath.Join(Scratch, "bin"), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) // there may be none
	left, err := MountsBelow(Scratch)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("still mounted: %v", left)
	}
	return os.RemoveAll(Scratch)
}

// diskDir picks a directory that is not tmpfs; JVSFS_TEST_DIR overrides.
func diskDir() string {
	if dir := os.Getenv("JVSFS_TEST_DIR"); dir != "" {
		return dir
	}
	for _, dir := range []string{os.TempDir(), "/var/tmp"} {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && st.Type != unix.TMPFS_MAGIC {
			return dir
		}
	}
	return os.TempDir()
}

// NewBase makes a directory for one test that other uids can walk into; it is
// removed at the end of the test unless something is still mounted below.
func NewBase(t testing.TB) string {
	t.Helper()
	base, err := os.MkdirTemp(Scratch, "t-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(base, 0o755))
	t.Cleanup(func() {
		remind(t)
		left, err := MountsBelow(base)
		require.NoError(t, err)
		require.Empty(t, left, "mounts left below the test's directory")
		require.NoError(t, os.RemoveAll(base))
	})
	return base
}
