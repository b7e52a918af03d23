package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostBytes is how large the ordinary program may be without its symbols. With the client of etcd, which jvsfs-etcd has, it was 27 MB.
const mostBytes = 20_000_000

// The ordinary program stays small: it is copied to each host and into each image.
func TestTheOrdinaryProgramIsSmall(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "jvsfs")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", bin, "./cmd/jvsfs")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	info, err := os.Stat(bin)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(mostBytes))
}
