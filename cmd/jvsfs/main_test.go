package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// asCommand makes the test binary be jvsfs: what a command leaves to the end of
// its process (a lock, a lease) needs a process that ends.
const asCommand = "JVSFS_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// command runs one command line in a process of its own, a child of the test, and
// returns its exit code, stdout and stderr.
func command(args ...string) (api.ExitCode, string, string) {
	var out, errs bytes.Buffer
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return -1, "", err.Error()
	}
	return api.ExitCode(cmd.ProcessState.ExitCode()), out.String(), errs.String()
}

func tree(t *testing.T, dirs ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range dirs {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	return root
}
