package harness

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A user who runs the tests without root gets one sentence that says what they need and how to run them, and
// not hundreds of failures.
func TestSaysAtOnceWhatItNeeds(t *testing.T) {
	const nobody = 65534
	own := filepath.Join(NewBase(t), "harness.test")
	require.NoError(t, CopyBinary("/proc/self/exe", own))
	cmd := exec.Command(own, "-test.run", "^TestSays")
	cmd.Dir = filepath.Dir(own)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	said, err := cmd.CombinedOutput()
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%v: %s", err, said)
	require.Contains(t, string(said), "they need root")
	require.Contains(t, string(said), "scripts/test.sh")
	require.NotContains(t, string(said), "FAIL: Test")
	require.Less(t, strings.Count(string(said), "\n"), 6)
}
