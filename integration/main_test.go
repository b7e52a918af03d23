package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// actorEnv marks a re-execution of the test binary as an actor process.
const actorEnv = "JVSFS_TEST_ACTOR"

// scratch is the directory of everything this run makes: the binary and one
// directory per mount. On a disk, because tmpfs lacks xattrs and flags that
// the rows need.
var scratch string

func TestMain(m *testing.M) {
	if os.Getenv(actorEnv) != "" {
		os.Exit(actorMain(os.Stdin, os.Stdout))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	if what := lacking(os.Geteuid()); what != "" {
		fmt.Fprintf(os.Stderr, "integration: %s\n  everything:  scripts/test.sh\n  these tests: sudo env PATH=\"$PATH\" go test ./integration\n"+
			"  the rest:    go test ./cmd/... ./fusefs ./gate ./lease ./mountcfg\n", what)
		return 1
	}
	var err error
	scratch, err = os.MkdirTemp(diskDir(), "jvsfs-it-")
	if err == nil {
		// Actors under other uids must be able to walk in.
		err = os.Chmod(scratch, 0o755)
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

// lacking is what the machine lacks for these tests, in one sentence: said once, and before
// any of them has failed. With JVSFS_REQUIRE_FUSE=0 those that mount are skipped instead.
func lacking(euid int) string {
	if euid != 0 {
		return "these tests mount file systems and change owners: they need root"
	}
	if _, err := os.Stat("/dev/fuse"); err != nil && os.Getenv("JVSFS_REQUIRE_FUSE") != "0" {
		return "these tests mount file systems: they need /dev/fuse (modprobe fuse, or give the container the device)"
	}
	return ""
}

// removeScratch refuses to delete through a mount that a test left behind:
// the tree below it may be somebody's bind view of another.
func removeScratch() error {
	left, err := mountsBelow(scratch)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("still mounted: %v", left)
	}
	return os.RemoveAll(scratch)
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

// jvsfsBinary builds jvsfs once per run, at its first use, so that the native
// tests run without it.
var jvsfsBinary = sync.OnceValues(func() (string, error) {
	out := filepath.Join(scratch, "bin", "jvsfs")
	if path := os.Getenv("JVSFS_BINARY"); path != "" {
		return out, copyBinary(path, out)
	}
	return out, buildBinary(out)
})

func buildBinary(out string, options ...string) error {
	args := append([]string{"build", "-o", out}, options...)
	if os.Getenv("JVSFS_RACE") == "1" {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "../cmd/jvsfs")...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ../cmd/jvsfs: %w\n%s", err, text)
	}
	return nil
}

// copyBinary gives a binary from elsewhere a path of its own, so that its
// processes are told from those of others that run it, and never killed.
func copyBinary(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

func requireBinary(t testing.TB) string {
	t.Helper()
	path, err := jvsfsBinary()
	require.NoError(t, err)
	return path
}

// requireRoot stops a test that mounts or changes owners. It fails instead of
// skipping where a mount ought to be possible: a suite that skips everything
// looks green.
func requireRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	giveUp(t, "needs root")
}

func requireFuse(t testing.TB) {
	t.Helper()
	requireRoot(t)
	if _, err := os.Stat("/dev/fuse"); err != nil {
		giveUp(t, "needs /dev/fuse")
	}
}

func giveUp(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("JVSFS_REQUIRE_FUSE") != "0" {
		t.Fatalf("%s, and a skip is not accepted here", why)
	}
	t.Skip(why)
}

// newBase makes a directory for one test that other uids can walk into; it is
// removed at the end of the test unless something is still mounted below.
func newBase(t testing.TB) string {
	t.Helper()
	base, err := os.MkdirTemp(scratch, "t-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(base, 0o755))
	t.Cleanup(func() {
		left, err := mountsBelow(base)
		require.NoError(t, err)
		require.Empty(t, left, "mounts left below the test's directory")
		require.NoError(t, os.RemoveAll(base))
	})
	return base
}
