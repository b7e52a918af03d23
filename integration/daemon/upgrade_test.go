package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// install puts a release of the program in its place, as a package manager does: a new file
// under the old name.
func install(m *harness.Mount, release string) {
	m.T.Helper()
	require.NoError(m.T, harness.BuildBinary(m.Bin+".new", "-ldflags", "-X main.release="+release))
	require.NoError(m.T, os.Rename(m.Bin+".new", m.Bin))
}

// serving is the daemon of the mount, as it tells of itself.
func serving(m *harness.Mount) (pid int, version string) {
	m.T.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint, State, Version string
			PID                        int
		}
	}
	harness.RequireJSON(m.T, m.MustCLI("status", "--json"), &all)
	for _, one := range all.Mounts {
		if one.Mountpoint == m.Mountpoint && one.State == "serving" {
			return one.PID, one.Version
		}
	}
	require.Fail(m.T, "no such mount", m.Mountpoint)
	return 0, ""
}

// TestAnUpgradeUnderAMountKeepsItsLease: a new release is installed under a mount that serves. Nothing changes for the
// mount, and doctor tells; replaced it is of the new release, under the same lease.
func TestAnUpgradeUnderAMountKeepsItsLease(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f", "g")})
	m.Bin = filepath.Join(m.Base, "bin", "jvsfs") // to be replaced by this test alone
	install(m, "1.4.0")
	m.Mount()
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	lease := m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	old, version := serving(m)
	require.Equal(t, "1.4.0", version)
	m.RequireNoFinding("version.mismatch", m.Mountpoint)

	install(m, "1.5.0")
	require.Contains(t, m.MustCLI("version"), "jvsfs 1.5.0 ")
	_, version = serving(m)
	require.Equal(t, "1.4.0", version)
	m.RequireFinding("version.mismatch", m.Mountpoint+" is of version 1.4.0, this command of 1.5.0", "jvsfs mount --replace")
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("while ")})
	b.Fails(m.Put("g"), "EROFS")

	replace(m)
	now, version := serving(m)
	require.NotEqual(t, old, now)
	require.Equal(t, "1.5.0", version)
	m.RequireNoFinding("version.mismatch", m.Mountpoint)
	all, _, _ := m.Doctor()
	require.NotEmpty(t, all.Of("version.same", m.Mountpoint+" is of the version of this command, 1.5.0"))
	_, r := m.HeadClaim("")
	require.Equal(t, lease.Token, r.Token)
	b.Fails(m.Put("g"), "EROFS")
	a.OK(m.Put("g"))
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("open")})
	require.Equal(t, "while open", harness.ReadText(t, m.Behind("f"))[:len("while open")])
	a.OK(harness.Command{Op: "close", Handle: "f"})
	gone(m, "the old daemon has ended", []int{old})
	a.OK(m.Put("g"))
}
