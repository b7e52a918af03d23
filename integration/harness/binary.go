package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
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
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
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
