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
	if path := os.Getenv("JVSFS_BINARY"); path != "" {
		return out, linkBinary(path, out)
	}
	return out, BuildBinary(out)
})

// makeBin makes the directory of the programs that are tested: a file system in memory, of this namespace alone, where a program starts
// with a quarter less of processor time. A story starts 26 processes of jvsfs, and each of them maps most of its text. Without it, on a
// kernel that has no huge pages for files, the directory is a plain one.
func makeBin() error {
	bin := filepath.Join(Scratch, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	if os.Getenv(insideEnv) != "" {
		_ = unix.Mount("jvsfs-test", bin, "tmpfs", 0, "mode=755,huge=always")
	}
	return nil
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
