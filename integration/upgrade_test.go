package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// install puts a release of the program in its place, as a package manager does: a new file
// under the old name.
func (m *mount) install(release string) {
	m.t.Helper()
	require.NoError(m.t, buildBinary(m.bin+".new", "-ldflags", "-X main.release="+release))
	require.NoError(m.t, os.Rename(m.bin+".new", m.bin))
}

// serving is the daemon of the mount, as it tells of itself.
func (m *mount) serving() (pid int, version string) {
	m.t.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint, State, Version string
			PID                        int
		}
	}
	requireJSON(m.t, m.cliOK("status", "--json"), &all)
	for _, one := range all.Mounts {
		if one.Mountpoint == m.Mountpoint && one.State == "serving" {
			return one.PID, one.Version
		}
	}
	require.Fail(m.t, "no such mount", m.Mountpoint)
	return 0, ""
}

// TestUpgrade: a new release is installed under a mount that serves. Nothing changes for the
// mount, and doctor tells; replaced it is of the new release, under the same lease.
func TestUpgrade(t *testing.T) {
	m := prepareMount(t, mountOptions{inPlace: true, onFree: "deny", prepare: withFiles("f", "g")})
	m.bin = filepath.Join(m.base, "bin", "jvsfs") // to be replaced by this test alone
	m.install("1.4.0")
	m.mount()
	a, b := startActor(t, "a"), startActor(t, "b")
	lease := m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	old, version := m.serving()
	require.Equal(t, "1.4.0", version)
	m.requireNoFinding("version.mismatch", m.Mountpoint)

	m.install("1.5.0")
	require.Contains(t, m.cliOK("version"), "jvsfs 1.5.0 ")
	_, version = m.serving()
	require.Equal(t, "1.4.0", version)
	m.requireFinding("version.mismatch", m.Mountpoint+" is of version 1.4.0, this command of 1.5.0", "jvsfs mount --replace")
	a.ok(command{Op: "write", Handle: "f", Data: []byte("while ")})
	b.fails(m.put("g"), "EROFS")

	m.replace()
	now, version := m.serving()
	require.NotEqual(t, old, now)
	require.Equal(t, "1.5.0", version)
	m.requireNoFinding("version.mismatch", m.Mountpoint)
	all, _, _ := m.doctor()
	require.NotEmpty(t, all.of("version.same", m.Mountpoint+" is of the version of this command, 1.5.0"))
	_, r := m.headClaim("")
	require.Equal(t, lease.Token, r.Token)
	b.fails(m.put("g"), "EROFS")
	a.ok(m.put("g"))
	a.ok(command{Op: "write", Handle: "f", Data: []byte("open")})
	require.Equal(t, "while open", readText(t, m.Behind("f"))[:len("while open")])
	a.ok(command{Op: "close", Handle: "f"})
	m.gone("the old daemon has ended", []int{old})
	a.ok(m.put("g"))
}
