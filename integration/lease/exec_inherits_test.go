package lease

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// runners are the commands that run CMD.
var runners = []string{"exec", "run", "quiesce"}

// What a shell or nohup has ignored before a command stays ignored in CMD, as it would without jvsfs.
func TestExecKeepsIgnoredSignalsIgnoredInItsCommand(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	const ask = ` "$@" sh -c 'printf "%x" $((0x$(sed -n "s/SigIgn:.//p" /proc/self/status) & 7))'`
	for how, ignored := range map[string]string{
		"exec":               "0",
		"trap '' HUP;  exec": "1",
		`nohup`:              "1",
	} {
		for _, command := range runners {
			out, err := exec.Command("sh", "-c", how+ask, "sh", m.Bin, command, m.Mountpoint, "--").Output()
			require.NoError(t, err)
			require.Equal(t, ignored, string(out), "%s %s", how, command)
		}
	}
	for _, command := range runners { // a shell ignores SIGINT and SIGQUIT, too, for what it starts in the background
		out, err := exec.Command("sh", "-c", ask+" & wait $!", "sh", m.Bin, command, m.Mountpoint, "--").Output()
		require.NoError(t, err)
		require.Equal(t, "6", string(out), command)
	}
}

// CMD gets the descriptors of its starter by their numbers (make's jobserver has 3 and 4), and no other one.
func TestExecPassesItsDescriptorsToItsCommand(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny"})
	for _, limit := range []string{"1024", "64"} {
		shown := func(by ...string) string {
			line := []string{"-c", "ulimit -n " + limit + `; exec "$@" 3</dev/null 4</dev/zero 12</dev/full`, "bash"}
			out, err := exec.Command("bash", append(append(line, by...), "sh", "-c", "cd /proc/$$/fd; echo *; readlink 3 4 12")...).Output()
			require.NoError(t, err)
			return string(out)
		}
		without := shown()
		require.Contains(t, without, "\n/dev/null\n/dev/zero\n/dev/full\n")
		for _, command := range runners {
			require.Equal(t, without, shown(m.Bin, command, m.Mountpoint, "--"), command)
		}
	}
}

// A working directory that CMD's user may not search, on a mount, is no reason not to run CMD.
func TestExecRunsACommandInADirectoryThatItsUserMayNotSearch(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{InPlace: true, Prepare: func(t testing.TB, source string) {
		require.NoError(t, os.Chmod(source, 0o777))
		require.NoError(t, os.Mkdir(filepath.Join(source, "private"), 0o700))
	}})
	cmd := exec.Command("setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", m.Bin, "exec", m.Mountpoint, "--", "echo", "ran")
	cmd.Dir = m.At("private")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "ran\n", string(out))
}
