package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func deadlineIn(d time.Duration) time.Time { return time.Now().Add(d) }

// background is a command that runs while the test goes on. What it says goes
// to a file, which descendants that outlive it may keep.
type background struct {
	t    *testing.T
	cmd  *exec.Cmd
	file string
}

// start runs argv in a session of its own; it is killed at the end of the test
// if it has not ended.
func (m *mount) start(argv ...string) *background {
	m.t.Helper()
	f, err := os.CreateTemp(m.base, "output-")
	require.NoError(m.t, err)
	defer f.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = f, f, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(m.t, cmd.Start())
	b := &background{t: m.t, cmd: cmd, file: f.Name()}
	m.t.Cleanup(b.kill)
	return b
}

// startExec runs a line of shell by jvsfs exec; options stand before the path.
func (m *mount) startExec(line string, options ...string) *background {
	m.t.Helper()
	argv := append([]string{m.bin, "exec"}, options...)
	return m.start(append(argv, m.Mountpoint, "--", "sh", "-c", line)...)
}

func (b *background) pid() int { return b.cmd.Process.Pid }

// wait returns the exit code and what was said.
func (b *background) wait() (exit int, said string) {
	b.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = b.cmd.Process.Kill() })
	_ = b.cmd.Wait() // the exit code says it
	require.True(b.t, timer.Stop(), "no end within %s: %v", patience, b.cmd.Args)
	text, err := os.ReadFile(b.file)
	require.NoError(b.t, err)
	return b.cmd.ProcessState.ExitCode(), string(text)
}

func (b *background) kill() {
	if b.cmd.ProcessState == nil {
		_ = unix.Kill(b.pid(), unix.SIGKILL)
		_ = b.cmd.Wait()
	}
}

// mail is a directory in which the shell lines of a test and the test itself
// tell each other things; it is outside of the mount.
type mail struct {
	t   *testing.T
	dir string
}

func newMail(m *mount) mail {
	m.t.Helper()
	dir := filepath.Join(m.base, "mail")
	require.NoError(m.t, os.Mkdir(dir, 0o777))
	require.NoError(m.t, os.Chmod(dir, 0o777))
	return mail{m.t, dir}
}

// gate makes a fifo: a shell that reads from it waits until open.
func (l mail) gate(name string) string {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	require.NoError(l.t, unix.Mkfifo(path, 0o666))
	require.NoError(l.t, os.Chmod(path, 0o666))
	return path
}

// open lets the shell that reads from the gate go on. It waits for the reader.
func (l mail) open(name string) {
	l.t.Helper()
	var fd int
	eventuallyNoted(l.t, "somebody waits at the gate "+name, func() (bool, string) {
		var err error
		fd, err = unix.Open(filepath.Join(l.dir, name), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err == nil, errnoName(err)
	})
	_, err := unix.Write(fd, []byte("go\n"))
	require.NoError(l.t, err)
	require.NoError(l.t, unix.Close(fd))
}

// tell is the shell that puts the exit code of the last command where the test
// can take it, whole or not at all.
func (l mail) tell(name string) string {
	path := filepath.Join(l.dir, name)
	return "echo $? >" + path + ".tmp; mv " + path + ".tmp " + path
}

// take waits for what was told.
func (l mail) take(name string) string {
	l.t.Helper()
	var text []byte
	eventually(l.t, "told: "+name, func() (ok bool) {
		var err error
		text, err = os.ReadFile(filepath.Join(l.dir, name))
		return err == nil
	})
	return string(text[:max(0, len(text)-1)])
}
