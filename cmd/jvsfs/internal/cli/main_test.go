package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// asCommand makes the test binary be jvsfs: what a command leaves to the end of
// its process (a lock, a lease) needs a process that ends.
const asCommand = "JVSFS_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(int(Main("")))
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
