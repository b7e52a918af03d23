package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

// Background is a command that runs beside the test. Its output goes to a file, which descendants that outlive
// it may keep open.
type Background struct {
	t    *testing.T
	cmd  *exec.Cmd
	File string
}

// Start runs argv in a session of its own; it is killed at the end of the test
// if it has not ended.
func (m *Mount) Start(argv ...string) *Background {
	m.T.Helper()
	f, err := os.CreateTemp(m.Base, "output-")
	require.NoError(m.T, err)
	defer f.Close() //nolint:errcheck // the command has its own descriptor
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = f, f, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(m.T, cmd.Start())
	b := &Background{t: m.T, cmd: cmd, File: f.Name()}
	m.T.Cleanup(b.Kill)
	return b
}

// StartExec runs a line of shell by jvsfs exec; options stand before the path.
func (m *Mount) StartExec(line string, options ...string) *Background {
	m.T.Helper()
	argv := append([]string{m.Bin, "exec"}, options...)
	return m.Start(append(argv, m.Mountpoint, "--", "sh", "-c", line)...)
}

// PID is the process of jvsfs.
func (b *Background) PID() int { return b.cmd.Process.Pid }

// Wait returns the exit code and the output.
func (b *Background) Wait() (exit int, said string) {
	b.t.Helper()
	timer := time.AfterFunc(Patience, func() { _ = b.cmd.Process.Kill() })
	_ = b.cmd.Wait() // the exit code says it
	require.True(b.t, timer.Stop(), "no end within %s: %v", Patience, b.cmd.Args)
	text, err := os.ReadFile(b.File)
	require.NoError(b.t, err)
	return b.cmd.ProcessState.ExitCode(), string(text)
}

// Kill ends jvsfs as a crash would.
func (b *Background) Kill() {
	if b.cmd.ProcessState == nil {
		_ = unix.Kill(b.PID(), unix.SIGKILL)
		_ = b.cmd.Wait()
	}
}

// Mail is a directory in which the shell lines of a test and the test itself
// tell each other things; it is outside of the mount.
type Mail struct {
	T   *testing.T
	Dir string
}

// NewMail makes the directory of a mail.
func NewMail(m *Mount) Mail {
	m.T.Helper()
	dir := filepath.Join(m.Base, "mail")
	require.NoError(m.T, os.Mkdir(dir, 0o777))
	require.NoError(m.T, os.Chmod(dir, 0o777))
	return Mail{m.T, dir}
}

// Gate makes a fifo: a shell that reads from it waits until open.
func (l Mail) Gate(name string) string {
	l.T.Helper()
	path := filepath.Join(l.Dir, name)
	require.NoError(l.T, unix.Mkfifo(path, 0o666))
	require.NoError(l.T, os.Chmod(path, 0o666))
	return path
}

// Open continues the shell that reads from the gate. It waits for the reader.
func (l Mail) Open(name string) {
	l.T.Helper()
	l.Arrived(name)()
}

// Arrived waits until somebody reads from the gate, who goes on when open is called.
func (l Mail) Arrived(name string) (open func()) {
	l.T.Helper()
	var fd int
	EventuallyNoted(l.T, "somebody waits at the gate "+name, func() (bool, string) {
		var err error
		fd, err = unix.Open(filepath.Join(l.Dir, name), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err == nil, operation.ErrnoName(err)
	})
	return func() {
		l.T.Helper()
		_, err := unix.Write(fd, []byte("go\n"))
		require.NoError(l.T, err)
		require.NoError(l.T, unix.Close(fd))
	}
}

// Tell is the shell that puts the exit code of the last command where the test
// can take it, whole or not at all.
func (l Mail) Tell(name string) string {
	path := filepath.Join(l.Dir, name)
	return "echo $? >" + path + ".tmp; mv " + path + ".tmp " + path
}

// Take waits for what was told.
func (l Mail) Take(name string) string {
	l.T.Helper()
	var text []byte
	Eventually(l.T, "told: "+name, func() (ok bool) {
		var err error
		text, err = os.ReadFile(filepath.Join(l.Dir, name))
		return err == nil
	})
	return string(text[:max(0, len(text)-1)])
}
