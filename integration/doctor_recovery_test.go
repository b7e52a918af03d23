package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// stateFile is what the daemon of this mount has left to bring it back.
func (m *mount) stateFile() string {
	m.t.Helper()
	files, err := filepath.Glob("/run/jvsfs/dev-*.state")
	require.NoError(m.t, err)
	for _, file := range files {
		if m.ownsState(file) {
			return file
		}
	}
	m.t.Fatalf("%s has no state among %v", m.Mountpoint, files)
	return ""
}

// apart starts a process in a mount namespace of its own, which has a copy of the mount.
func (m *mount) apart() *background {
	m.t.Helper()
	b := m.start("unshare", "--mount", "--propagation", "private", "sleep", "1000")
	eventually(m.t, "it is in a namespace of its own", func() bool {
		proc := "/proc/" + strconv.Itoa(b.pid())
		name, _ := os.ReadFile(proc + "/comm")
		seen, err := os.ReadFile(proc + "/mountinfo")
		return err == nil && strings.TrimSpace(string(name)) == "sleep" && strings.Contains(string(seen), " "+m.Mountpoint+" ")
	})
	return b
}

// A dead mount that only others see is still there: they can bring it back, with what its
// daemon has left.
func TestDoctorKeepsWhatBringsAMountBack(t *testing.T) {
	m := newMount(t, mountOptions{inPlace: true, prepare: withFiles("f")})
	state := m.stateFile()
	apart := m.apart()
	m.killDaemon()
	require.NoError(t, unix.Unmount(m.Mountpoint, unix.MNT_DETACH))
	m.mounted = false
	all, _, _ := m.doctor("--repair")
	require.Empty(t, all.of("run.state", state))
	require.FileExists(t, state)
	there := func(args ...string) {
		argv := append([]string{"--mount", "--target", strconv.Itoa(apart.pid()), m.bin}, args...)
		out, err := exec.CommandContext(t.Context(), "nsenter", argv...).CombinedOutput()
		require.NoError(t, err, "%v: %s%s", args, out, m.logTail())
	}
	there("recover", m.Mountpoint)
	there("umount", m.Mountpoint)
}

// State of a mount that is gone everywhere goes with --repair. State that cannot be read may
// be anything: a person looks at it.
func TestDoctorStateOfAMountThatIsGone(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f")})
	state, torn := m.stateFile(), "/run/jvsfs/dev-0-1048574.state"
	require.NoError(t, os.WriteFile(torn, []byte(`{"version":`), 0o600))
	defer os.Remove(torn)
	m.requireNoFinding("run.state", state)
	m.killDaemon()
	m.requireNoFinding("run.state", state)
	require.NoError(t, unix.Unmount(m.Mountpoint, unix.MNT_DETACH))
	m.mounted = false
	m.requireFinding("run.state", state, "--repair")
	m.requireFinding("run.state", torn, "look at it")
	all, _, _ := m.doctor("--repair")
	require.NotEmpty(t, all.of("repair.done", state))
	require.NoFileExists(t, state)
	require.FileExists(t, torn)
}
