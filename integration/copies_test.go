package integration

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Unmounting a bind mount of the mount, or of a part of it, leaves the mount where it is,
// and its leases with those who hold them.
func TestUmountOfACopy(t *testing.T) {
	for _, by := range []string{"jvsfs", "umount.fuse.jvsfs"} {
		for _, part := range []string{"", "d"} {
			t.Run(by+" /"+part, func(t *testing.T) {
				m := newMount(t, mountOptions{onFree: "deny", prepare: withDir("d")})
				a := startActor(t, "a")
				before := m.acquire(a)
				at := filepath.Join(m.base, "copy")
				require.NoError(t, os.Mkdir(at, 0o755))
				require.NoError(t, unix.Mount(m.At(part), at, "", unix.MS_BIND, ""))
				m.takeAway(by, at)
				require.NotEqual(t, "fuse.jvsfs", topType(t, at))
				require.Equal(t, "fuse.jvsfs", topType(t, m.Mountpoint))
				a.ok(m.put("f"))
				_, r := m.headClaim("")
				require.Equal(t, before.Token, r.Token)
				require.False(t, r.Released)
			})
		}
	}
}

// One on the very place, as one makes it to change how it is propagated, is a copy like any.
func TestUmountOfACopyAtTheSamePlace(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withDir("d")})
	a := startActor(t, "a")
	m.acquire(a)
	require.NoError(t, unix.Mount(m.Mountpoint, m.Mountpoint, "", unix.MS_BIND, ""))
	require.Len(t, m.stack(), 2)
	m.takeAway("jvsfs", m.Mountpoint)
	require.Len(t, m.stack(), 1)
	a.ok(m.put("f"))
}

// takeAway unmounts what lies at a place, by jvsfs or as umount(8) does.
func (m *mount) takeAway(by, at string, options ...string) {
	m.t.Helper()
	args := append([]string{by, "umount", at}, options...)
	if by != "jvsfs" {
		args = append([]string{by, at}, options...)
	}
	out, err := (&exec.Cmd{Path: m.bin, Args: args}).CombinedOutput()
	require.NoError(m.t, err, "%s", out)
}

// A bind mount of a dead mount is taken away, and the mount comes back with its leases.
func TestUmountOfADeadCopy(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withDir("d")})
	a := startActor(t, "a")
	before := m.acquire(a)
	at := filepath.Join(m.base, "copy")
	require.NoError(t, os.Mkdir(at, 0o755))
	require.NoError(t, unix.Mount(m.Mountpoint, at, "", unix.MS_BIND, ""))
	m.killDaemon()
	m.takeAway("jvsfs", at, "--bare")
	m.recover()
	a.ok(m.put("f"))
	_, r := m.headClaim("")
	require.Equal(t, before.Token, r.Token)
}

// What was bound before a replacement stays with the daemon that was replaced: it is named,
// can be seen and taken away, and with the last of it that daemon ends.
func TestCopiesOfAReplacedMount(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withDir("d")})
	a := startActor(t, "a")
	m.acquire(a)
	at := filepath.Join(m.base, "copy")
	require.NoError(t, os.Mkdir(at, 0o755))
	require.NoError(t, unix.Mount(m.Mountpoint, at, "", unix.MS_BIND, ""))
	old := m.daemons()
	_, said, exit := m.CLI("mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.logFile(), "--replace")
	require.Zero(t, exit, said)
	require.Contains(t, said, at)
	out, errs, exit := m.CLI("recover", "--json")
	require.NotContains(t, out+errs, at, "it is not dead")
	require.Contains(t, []int{0, exitDead}, exit)
	a.ok(m.put("f"))
	m.takeAway("jvsfs", at)
	m.gone("with its last copy the old daemon ends", old)
	a.ok(m.put("g"))
}

// A container that was started while the mount was there has a copy of it in a mount
// namespace of its own, which unmounting does not reach. The daemon ends all the same,
// and the copy refuses everything.
func TestUmountEndsTheDaemonDespiteCopies(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f")})
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

	m.unmount()
	eventually(t, "the daemon ends", func() bool { return len(m.daemons()) == 0 })
	_, err = io.WriteString(in, "go\n")
	require.NoError(t, err)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "not connected")
	require.True(t, lines.Scan())
	require.Equal(t, "done", lines.Text())
	require.NoError(t, container.Wait())
}
