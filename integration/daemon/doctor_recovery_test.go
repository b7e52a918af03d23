package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// stateFile is what the daemon of this mount has left to bring it back.
func stateFile(m *harness.Mount) string {
	m.T.Helper()
	files, err := filepath.Glob("/run/jvsfs/dev-*.state")
	require.NoError(m.T, err)
	for _, file := range files {
		if ownsState(m, file) {
			return file
		}
	}
	m.T.Fatalf("%s has no state among %v", m.Mountpoint, files)
	return ""
}

// apart starts a process in a mount namespace of its own, which has a copy of the mount.
func apart(m *harness.Mount) *harness.Background {
	m.T.Helper()
	b := m.Start("unshare", "--mount", "--propagation", "private", "sleep", "1000")
	harness.Eventually(m.T, "it is in a namespace of its own", func() bool {
		proc := "/proc/" + strconv.Itoa(b.PID())
		name, _ := os.ReadFile(proc + "/comm")
		seen, err := os.ReadFile(proc + "/mountinfo")
		return err == nil && strings.TrimSpace(string(name)) == "sleep" && strings.Contains(string(seen), " "+m.Mountpoint+" ")
	})
	return b
}

// A dead mount that only others see is still there: they can bring it back, with what its
// daemon has left.
func TestDoctorKeepsTheStateOfADeadMountThatOthersSee(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{InPlace: true, Prepare: harness.WithFiles("f")})
	state := stateFile(m)
	apart := apart(m)
	m.KillDaemon()
	require.NoError(t, unix.Unmount(m.Mountpoint, unix.MNT_DETACH))
	m.Mounted = false
	all, _, _ := m.Doctor("--repair")
	require.Empty(t, all.Of("run.state", state))
	require.FileExists(t, state)
	there := func(args ...string) {
		argv := append([]string{"--mount", "--target", strconv.Itoa(apart.PID()), m.Bin}, args...)
		out, err := exec.CommandContext(t.Context(), "nsenter", argv...).CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
	there("recover", m.Mountpoint)
	there("umount", m.Mountpoint)
}

// State of a mount that is gone everywhere goes with --repair. State that cannot be read may
// be anything: a person looks at it.
func TestDoctorRemovesTheStateOfAMountThatIsGone(t *testing.T) {
	m := harness.KeepsItsDevice(t, func() *harness.Mount {
		return harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	})
	state, torn := stateFile(m), "/run/jvsfs/dev-0-1048574.state"
	require.NoError(t, os.WriteFile(torn, []byte(`{"version":`), 0o600))
	defer os.Remove(torn)
	m.RequireNoFinding("run.state", state)
	m.KillDaemon()
	m.RequireNoFinding("run.state", state)
	require.NoError(t, unix.Unmount(m.Mountpoint, unix.MNT_DETACH))
	m.Mounted = false
	m.RequireFinding("run.state", state, "--repair")
	m.RequireFinding("run.state", torn, "look at it")
	all, _, _ := m.Doctor("--repair")
	require.NotEmpty(t, all.Of("repair.done", state))
	require.NoFileExists(t, state)
	require.FileExists(t, torn)
}
