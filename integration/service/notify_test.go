package service

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

	"github.com/jvsfs/jvsfs/integration/harness"
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
	require.NoError(s.t, s.conn.SetReadDeadline(time.Now().Add(harness.Patience)))
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
func service(m *harness.Mount, s *manager, extra ...string) *exec.Cmd {
	m.T.Helper()
	args := append([]string{"mount", "--foreground", "--control", m.LockDir, "--log-file", m.LogFile()}, extra...)
	cmd := exec.Command(m.Bin, append(args, m.Source, m.Mountpoint)...)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+s.name)
	m.Mounted, m.WasMounted = true, true
	require.NoError(m.T, cmd.Start())
	m.T.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// The manager hears READY when the mount serves and not before, then STOPPING, and what
// the daemon starts cannot speak for it.
func TestNotifyTellsReadyWhenTheMountServes(t *testing.T) {
	for kind, name := range map[string]func(base string) string{
		"path":     func(base string) string { return filepath.Join(base, "notify") },
		"abstract": func(base string) string { return "@" + base + "/notify" },
	} {
		t.Run(kind, func(t *testing.T) {
			m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
			s := newManager(t, name(m.Base))
			cmd := service(m, s, "--on-free", "deny")
			ready := s.next()
			require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint), "ready without a mount")
			harness.StartActor(t, "a").Fails(m.Put("f"), "EROFS")
			require.Contains(t, ready, "READY=1\nSTATUS=serving "+m.Source+" at "+m.Mountpoint)
			harness.Eventually(t, "only the daemon was given the socket", func() bool { // a process that is just starting has its parent's
				knows := slices.DeleteFunc(harness.ProcessesOf(m.Bin), func(pid int) bool { return !knowsSocket(pid) })
				return len(harness.ProcessesOf(m.Bin)) == 2 && slices.Equal(knows, []int{cmd.Process.Pid})
			})
			require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
			require.Contains(t, s.next(), "STOPPING=1\nSTATUS=unmounting "+m.Mountpoint)
			require.NoError(t, cmd.Wait())
			m.Mounted = false
			require.Empty(t, harness.TopType(t, m.Mountpoint))
			s.silent()
		})
	}
}

func knowsSocket(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && strings.Contains(string(env), "NOTIFY_SOCKET=")
}

// A stop of a busy mount leaves a dead one, and says so.
func TestNotifySaysThatABusyMountIsLeftDead(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	s := newManager(t, filepath.Join(m.Base, "notify"))
	cmd := service(m, s)
	s.next()
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	require.Contains(t, s.next(), "STOPPING=1")
	require.Contains(t, s.next(), "STATUS="+m.Mountpoint+" was busy: the mount is dead now and refuses everything")
	require.NoError(t, cmd.Wait())
	m.Dead = true
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "ENOTCONN", "ECONNABORTED")
	_, r := m.HeadClaim("")
	require.True(t, r.Released, "drained and released all the same")
	a.Do(harness.Command{Op: "close", Handle: "f"})
}

// A stop while a write waits for the disk: the daemon asks for time, and neither releases nor
// ends. First the write lands and is acknowledged, then the lease is given back, then the
// mount, whose file is still open, refuses everything.
func TestNotifyStopWaitsForTheWriteInFlight(t *testing.T) {
	m, disk := harness.PrepareFreezable(t, harness.MountOptions{})
	s := newManager(t, filepath.Join(m.Base, "notify"))
	cmd := service(m, s, "--on-free", "deny")
	t.Cleanup(disk.Thaw) // before the daemon is waited for
	require.Contains(t, s.next(), "READY=1")
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	disk.Freeze()
	written := disk.Hang(a, harness.Command{Op: "write", Handle: "f", Data: []byte("slow")})

	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	require.Contains(t, s.next(), "STOPPING=1")
	require.Contains(t, s.next(), "EXTEND_TIMEOUT_USEC=") // seconds later
	require.Empty(t, written)
	_, r := m.HeadClaim("")
	require.False(t, r.Released, "released under a write that is still to land")
	require.NotContains(t, []string{"", "Z", "X"}, harness.ProcState(cmd.Process.Pid))
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint))

	disk.Thaw()
	require.Empty(t, (<-written).Errno, "acknowledged")
	require.Equal(t, "slow", harness.ReadText(t, m.Behind("f")))
	require.NoError(t, cmd.Wait())
	m.Dead = true
	_, r = m.HeadClaim("")
	require.True(t, r.Released)
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "ENOTCONN", "ECONNABORTED")
	require.Equal(t, "slow", harness.ReadText(t, m.Behind("f")))
	a.Do(harness.Command{Op: "close", Handle: "f"})
}

// A start that fails is never ready, and says why; an unmount by command stops too. What
// runs in the background is no service's main process and says nothing.
func TestNotifyTellsFailuresAndUnmounts(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	s := newManager(t, filepath.Join(m.Base, "notify"))
	cmd := service(m, s, "--config", m.WriteConfig("c.yaml", "modus: shared\n"))
	require.Contains(t, s.next(), `STATUS=E_USAGE: `+filepath.Join(m.Base, "c.yaml")+`:1:1: unknown key "modus"`)
	require.Error(t, cmd.Wait())
	require.Equal(t, harness.ExitUsage, cmd.ProcessState.ExitCode())
	s.silent()

	cmd = service(m, s)
	require.Contains(t, s.next(), "READY=1")
	m.Unmount()
	require.Contains(t, s.next(), "STOPPING=1")
	require.NoError(t, cmd.Wait())

	t.Setenv("NOTIFY_SOCKET", s.name)
	m.Mount()
	m.Unmount()
	s.silent()
}
