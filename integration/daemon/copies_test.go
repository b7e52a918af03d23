package daemon

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Unmounting a bind mount of the mount, or of a part of it, leaves the mount where it is,
// and its leases with those who hold them.
func TestUnmountingABindMountLeavesTheMountAndItsLeases(t *testing.T) {
	for _, by := range []string{"jvsfs", "umount.fuse.jvsfs"} {
		for _, part := range []string{"", "d"} {
			t.Run(by+" /"+part, func(t *testing.T) {
				m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithDir("d")})
				a := harness.StartActor(t, "a")
				before := m.Acquire(a)
				at := filepath.Join(m.Base, "copy")
				require.NoError(t, os.Mkdir(at, 0o755))
				require.NoError(t, unix.Mount(m.At(part), at, "", unix.MS_BIND, ""))
				takeAway(m, by, at)
				require.NotEqual(t, "fuse.jvsfs", harness.TopType(t, at))
				require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint))
				a.OK(m.Put("f"))
				_, r := m.HeadClaim("")
				require.Equal(t, before.Token, r.Token)
				require.False(t, r.Released)
			})
		}
	}
}

// One on the very place, as one makes it to change how it is propagated, is a copy like any.
func TestUnmountingABindMountAtTheSamePlaceLeavesTheMount(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithDir("d")})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	require.NoError(t, unix.Mount(m.Mountpoint, m.Mountpoint, "", unix.MS_BIND, ""))
	require.Len(t, stack(m), 2)
	takeAway(m, "jvsfs", m.Mountpoint)
	require.Len(t, stack(m), 1)
	a.OK(m.Put("f"))
}

// takeAway unmounts what lies at a place, by jvsfs or as umount(8) does.
func takeAway(m *harness.Mount, by, at string, options ...string) {
	m.T.Helper()
	args := append([]string{by, "umount", at}, options...)
	if by != "jvsfs" {
		args = append([]string{by, at}, options...)
	}
	out, err := (&exec.Cmd{Path: m.Bin, Args: args}).CombinedOutput()
	require.NoError(m.T, err, "%s", out)
}

// A bind mount of a dead mount is taken away, and the mount comes back with its leases.
func TestUnmountingABindMountOfADeadMountLeavesItToRecover(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithDir("d")})
	a := harness.StartActor(t, "a")
	before := m.Acquire(a)
	at := filepath.Join(m.Base, "copy")
	require.NoError(t, os.Mkdir(at, 0o755))
	require.NoError(t, unix.Mount(m.Mountpoint, at, "", unix.MS_BIND, ""))
	m.KillDaemon()
	takeAway(m, "jvsfs", at, "--bare")
	m.Recover()
	a.OK(m.Put("f"))
	_, r := m.HeadClaim("")
	require.Equal(t, before.Token, r.Token)
}

// What was bound before a replacement stays with the daemon that was replaced: it is named,
// can be seen and taken away, and with the last of it that daemon ends.
func TestABindMountOfAReplacedMountIsNamedAndKeepsTheOldDaemon(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithDir("d")})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	at := filepath.Join(m.Base, "copy")
	require.NoError(t, os.Mkdir(at, 0o755))
	require.NoError(t, unix.Mount(m.Mountpoint, at, "", unix.MS_BIND, ""))
	old := m.Daemons()
	_, said, exit := m.CLI("mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.LogFile(), "--replace")
	require.Zero(t, exit, said)
	require.Contains(t, said, at)
	out, errs, exit := m.CLI("recover", "--json")
	require.NotContains(t, out+errs, at, "it is not dead")
	require.Contains(t, []int{0, harness.ExitDead}, exit)
	a.OK(m.Put("f"))
	takeAway(m, "jvsfs", at)
	gone(m, "with its last copy the old daemon ends", old)
	a.OK(m.Put("g"))
}

// A container that was started while the mount was there has a copy of it in a mount
// namespace of its own, which unmounting does not reach. The daemon ends all the same,
// and the copy refuses everything.
func TestUmountEndsTheDaemonDespiteCopies(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	container := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c",
		`echo in; read go; cat "$1" 2>&1; echo done`, "sh", m.At("f"))
	in, err := container.StdinPipe()
	require.NoError(t, err)
	out, err := container.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, container.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Equal(t, "in", lines.Text())

	m.Unmount()
	harness.Eventually(t, "the daemon ends", func() bool { return len(m.Daemons()) == 0 })
	_, err = io.WriteString(in, "go\n")
	require.NoError(t, err)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "not connected")
	require.True(t, lines.Scan())
	require.Equal(t, "done", lines.Text())
	require.NoError(t, container.Wait())
}
