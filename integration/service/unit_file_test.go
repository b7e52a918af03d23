package service

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/conformance/cases"
	"github.com/jvsfs/jvsfs/integration/harness"
)

const unitFile = "../../scripts/systemd/jvsfs@.service"

// unitSetting is the value of a key of the unit file; the last one, as for systemd.
func unitSetting(t *testing.T, key string) (value string) {
	t.Helper()
	for line := range strings.Lines(harness.ReadText(t, unitFile)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			value = v
		}
	}
	require.NotEmpty(t, value, key)
	return value
}

// With the capabilities of the unit, and none to gain, the daemon does what callers do to
// their files as well as with all.
func TestTheCapabilitiesOfTheUnitAreEnough(t *testing.T) {
	require.Equal(t, "yes", unitSetting(t, "NoNewPrivileges"))
	bounds := "-all"
	for _, name := range strings.Fields(unitSetting(t, "CapabilityBoundingSet")) {
		bounds += ",+" + strings.ToLower(strings.TrimPrefix(name, "CAP_"))
	}
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny"})
	m.Mounted, m.WasMounted = true, true
	// At the common priority, as systemd starts it, whatever the tests have: a daemon keeps a priority that was chosen for it.
	common := `renice 0 -p $$ >&2 && exec "$@"`
	said, err := exec.Command("sh", "-c", common, "sh", "setpriv", "--no-new-privs", "--bounding-set="+bounds, "--inh-caps=-all",
		m.Bin, "mount", "--on-free", "deny", "--control", m.LockDir, "--log-file", m.LogFile(), m.Source, m.Mountpoint).CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.NotContains(t, m.LogTail(), "no guardian")
	daemon := m.Daemons()[0]
	status := harness.ReadText(t, "/proc/"+strconv.Itoa(daemon)+"/status")
	require.NotRegexp(t, `CapBnd:\t0*1f+f`, status, "the daemon is as mighty as ever")
	require.Contains(t, status, "NoNewPrivs:\t1")
	require.Contains(t, harness.ReadText(t, "/proc/"+strconv.Itoa(daemon)+"/stat"), " 10 -10 ", "priority and niceness")

	user := harness.StartActorAs(t, "user", harness.Identity{UID: 1000, GID: 1000})
	user.OK(harness.Command{Op: "open", Handle: "root", Path: m.Mountpoint, Flags: unix.O_RDONLY})
	_, errs, exit := m.CLI("umount", m.Mountpoint)
	require.Equal(t, harness.ExitBusy, exit)
	require.Contains(t, errs, strconv.Itoa(user.PID()), "who keeps it busy is named")
	user.OK(harness.Command{Op: "close", Handle: "root"})

	m.MustCLI("lock", "acquire", m.Mountpoint, "--pid", strconv.Itoa(os.Getpid()))
	m.RequireFidelity(t, slices.DeleteFunc(cases.Sample(12), func(c cases.Case) bool { return !privileged[cases.Topic(c.Name)] }))
}

// privileged are the topics of cases that take more than permission to the files.
var privileged = map[string]bool{
	"access": true, "capability": true, "chmod": true, "chown": true, "flags": true, "link": true, "node": true,
	"privileges": true, "sticky": true, "tmpfile": true, "utimens": true, "xattr": true,
}

// systemd takes every line of the unit.
func TestSystemdTakesEveryLineOfTheUnit(t *testing.T) {
	dir := t.TempDir()
	unit := strings.ReplaceAll(harness.ReadText(t, unitFile), "/usr/bin/jvsfs", harness.RequireBinary(t))
	for _, name := range []string{"jvsfs@.service", "jvsfs@name.service"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(unit), 0o644))
	}
	cmd := exec.Command("systemd-analyze", "verify", "--man=no", "jvsfs@name.service")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Empty(t, string(said))
	// A private mount namespace would keep the mount to itself; only the daemon is killed,
	// so that its guardian can cut it off.
	for _, hides := range []string{"Protect", "Private", "ReadOnlyPaths", "InaccessiblePaths", "ReadWritePaths", "RootDirectory", "DynamicUser", "MountFlags", "TemporaryFileSystem", "BindPaths"} {
		require.NotRegexp(t, `(?m)^`+hides, unit)
	}
	require.Equal(t, "process", unitSetting(t, "KillMode"))
	require.Equal(t, "notify", unitSetting(t, "Type"))
}

// The unit of the exporter has no capability to lose and sees all mounts of the host; its user is made by the package.
func TestTheExportersUnitHasNoCapability(t *testing.T) {
	dir := t.TempDir()
	unit := strings.ReplaceAll(harness.ReadText(t, "../../scripts/systemd/jvsfs-exporter.service"), "/usr/bin/jvsfs", harness.RequireBinary(t))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jvsfs-exporter.service"), []byte(unit), 0o644))
	cmd := exec.Command("systemd-analyze", "verify", "--man=no", "jvsfs-exporter.service")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Empty(t, string(said))
	for _, hides := range []string{"Protect", "Private", "ReadOnlyPaths", "InaccessiblePaths", "RootDirectory", "DynamicUser", "TemporaryFileSystem", "BindPaths"} {
		require.NotRegexp(t, `(?m)^`+hides, unit, "it makes a private mount namespace")
	}
	require.Regexp(t, `(?m)^CapabilityBoundingSet=$`, unit)
	require.Regexp(t, `(?m)^User=jvsfs-exporter$`, unit)
	require.Contains(t, harness.ReadText(t, "../../scripts/debian/sysusers.conf"), "\nu jvsfs-exporter ")
}
