package harness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// jvsfsBinary builds jvsfs once per run, at its first use, so that the native
// tests run without it.
var jvsfsBinary = sync.OnceValues(func() (string, error) {
	out := filepath.Join(Scratch, "bin", "jvsfs")
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return out, err
	}
	huge := mountHugePages(filepath.Dir(out))
	path := os.Getenv("JVSFS_BINARY")
	switch {
	case path == "":
		return out, BuildBinary(out)
	case huge:
		return out, CopyBinary(path, out)
	default:
		return out, linkBinary(path, out)
	}
})

// mountHugePages puts a file system in memory at dir, where a program starts with a quarter less of processor time: a story starts 26
// processes of jvsfs, and each of them maps most of its text. It is false where the kernel has no huge pages for files. The mount is of
// this namespace alone.
func mountHugePages(dir string) bool {
	return os.Getenv(insideEnv) != "" && unix.Mount("jvsfs-test", dir, "tmpfs", 0, "mode=755,huge=always") == nil
}

// BuildBinary builds jvsfs as it is shipped, static, or with the race detector; options are those of go build.
func BuildBinary(out string, options ...string) error {
	args, cgo := append([]string{"build", "-o", out}, options...), "CGO_ENABLED=0"
	if os.Getenv("JVSFS_RACE") == "1" {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(args, "github.com/jvsfs/jvsfs/cmd/jvsfs")...)
	cmd.Env = append(os.Environ(), cgo)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build cmd/jvsfs: %w\n%s", err, text)
	}
	return nil
}

// CopyBinary gives a binary from elsewhere a path of its own. So its processes differ from those of others that
// run it, which must not be killed.
func CopyBinary(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in) // without all of it in memory
	return errors.Join(err, out.Close())
}

// linkBinary is CopyBinary without writing it for each story, where both are on one file system.
func linkBinary(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	return CopyBinary(from, to)
}

// RequireBinary is the path of the jvsfs that is tested.
func RequireBinary(t testing.TB) string {
	t.Helper()
	path, err := jvsfsBinary()
	require.NoError(t, err)
	return path
}
