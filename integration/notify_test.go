package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// manager is a service manager that listens on a notification socket, sd_notify(3).
type manager struct {
	t    *testing.T
	conn *net.UnixConn
	name string
}

// newManager listens at a path, or, with an @ in front, at an abstract name.
func newManager(t *testing.T, name string) *manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &manager{t, conn, name}
}

// next is the next datagram.
func (s *manager) next() string {
	s.t.Helper()
	require.NoError(s.t, s.conn.SetReadDeadline(time.Now().Add(patience)))
	buf := make([]byte, 4096)
	n, err := s.conn.Read(buf)
	require.NoError(s.t, err, "the service manager is told nothing")
	return string(buf[:n])
}

// silent demands that nothing was said that next has not returned. Whoever could have
// said it has ended.
func (s *manager) silent() {
	s.t.Helper()
	require.NoError(s.t, s.conn.SetReadDeadline(time.Now().Add(20*time.Millisecond))) // one that has passed reads nothing at all
	n, err := s.conn.Read(make([]byte, 4096))
	require.ErrorIs(s.t, err, os.ErrDeadlineExceeded, "%d bytes", n)
}

// service runs jvsfs mount --foreground as the manager would.
func (m *mount) service(s *manager, extra ...string) *exec.Cmd {
	m.t.Helper()
	args := append([]string{"mount", "--foreground", "--control", m.LockDir, "--log-file", m.logFile()}, extra...)
	cmd := exec.Command(m.bin, append(args, m.Source, m.Mountpoint)...)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+s.name)
	m.mounted, m.wasMounted = true, true
	require.NoError(m.t, cmd.Start())
	m.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// The manager hears READY when the mount serves and not before, then STOPPING, and what
// the daemon starts cannot speak for it.
func TestNotify(t *testing.T) {
	for kind, name := range map[string]func(base string) string{
		"path":     func(base string) string { return filepath.Join(base, "notify") },
		"abstract": func(base string) string { return "@" + base + "/notify" },
	} {
		t.Run(kind, func(t *testing.T) {
			m := prepareMount(t, mountOptions{prepare: withFiles("f")})
			s := newManager(t, name(m.base))
			cmd := m.service(s, "--on-free", "deny")
			ready := s.next()
			require.Equal(t, "fuse.jvsfs", topType(t, m.Mountpoint), "ready without a mount")
			startActor(t, "a").fails(m.put("f"), "EROFS")
			require.Contains(t, ready, "READY=1\nSTATUS=serving "+m.Source+" at "+m.Mountpoint)
			eventually(t, "only the daemon was given the socket", func() bool { // a process that is just starting has its parent's
				knows := slices.DeleteFunc(processesOf(m.bin), func(pid int) bool { return !knowsSocket(pid) })
				return len(processesOf(m.bin)) == 2 && slices.Equal(knows, []int{cmd.Process.Pid})
			})
			require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
			require.Contains(t, s.next(), "STOPPING=1\nSTATUS=unmounting "+m.Mountpoint)
			require.NoError(t, cmd.Wait())
			m.mounted = false
			require.Empty(t, topType(t, m.Mountpoint))
			s.silent()
		})
	}
}

func knowsSocket(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && strings.Contains(string(env), "NOTIFY_SOCKET=")
}

// A stop of a busy mount leaves a dead one, and says so.
func TestNotifyBusy(t *testing.T) {
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	s := newManager(t, filepath.Join(m.base, "notify"))
	cmd := m.service(s)
	s.next()
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	require.Contains(t, s.next(), "STOPPING=1")
	require.Contains(t, s.next(), "STATUS="+m.Mountpoint+" was busy: the mount is dead now and refuses everything")
	require.NoError(t, cmd.Wait())
	m.dead = true
	a.fails(command{Op: "write", Handle: "f", Data: []byte("late")}, "ENOTCONN", "ECONNABORTED")
	_, r := m.headClaim("")
	require.True(t, r.Released, "drained and released all the same")
	a.do(command{Op: "close", Handle: "f"})
}

// A stop while a write waits for the disk: the daemon asks for time, and neither releases nor
// ends. First the write lands and is acknowledged, then the lease is given back, then the
// mount, whose file is still open, refuses everything.
func TestNotifyStopWaitsForTheWriteInFlight(t *testing.T) {
	m, disk := prepareFreezable(t, mountOptions{})
	s := newManager(t, filepath.Join(m.base, "notify"))
	cmd := m.service(s, "--on-free", "deny")
	t.Cleanup(disk.thaw) // before the daemon is waited for
	require.Contains(t, s.next(), "READY=1")
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	disk.freeze()
	written := disk.hang(a, command{Op: "write", Handle: "f", Data: []byte("slow")})

	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	require.Contains(t, s.next(), "STOPPING=1")
	require.Contains(t, s.next(), "EXTEND_TIMEOUT_USEC=") // seconds later
	require.Empty(t, written)
	_, r := m.headClaim("")
	require.False(t, r.Released, "released under a write that is still to land")
	require.NotContains(t, []string{"", "Z", "X"}, procState(cmd.Process.Pid))
	require.Equal(t, "fuse.jvsfs", topType(t, m.Mountpoint))

	disk.thaw()
	require.Empty(t, (<-written).Errno, "acknowledged")
	require.Equal(t, "slow", readText(t, m.Behind("f")))
	require.NoError(t, cmd.Wait())
	m.dead = true
	_, r = m.headClaim("")
	require.True(t, r.Released)
	a.fails(command{Op: "write", Handle: "f", Data: []byte("late")}, "ENOTCONN", "ECONNABORTED")
	require.Equal(t, "slow", readText(t, m.Behind("f")))
	a.do(command{Op: "close", Handle: "f"})
}

// A start that fails is never ready, and says why; an unmount by command stops too. What
// runs in the background is no service's main process and says nothing.
func TestNotifyOtherEnds(t *testing.T) {
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	s := newManager(t, filepath.Join(m.base, "notify"))
	cmd := m.service(s, "--config", m.writeConfig("c.yaml", "modus: shared\n"))
	require.Contains(t, s.next(), `STATUS=E_USAGE: `+filepath.Join(m.base, "c.yaml")+`:1:1: unknown key "modus"`)
	require.Error(t, cmd.Wait())
	require.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
	s.silent()

	cmd = m.service(s)
	require.Contains(t, s.next(), "READY=1")
	m.unmount()
	require.Contains(t, s.next(), "STOPPING=1")
	require.NoError(t, cmd.Wait())

	t.Setenv("NOTIFY_SOCKET", s.name)
	m.mount()
	m.unmount()
	s.silent()
}
