package tools

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// watch is an inotifywait on one directory. It names no descriptors of the
// directory's files and keeps no mount busy beyond its end.
type watch struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Reader
}

// startWatch returns when the watch is established.
func startWatch(w harness.Workshop) *watch {
	w.T.Helper()
	cmd := exec.Command("inotifywait", "-m", "--format", "%e %f",
		"-e", "create,modify,attrib,moved_from,moved_to,delete,close_write", w.Dir)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = w.Env, "/", &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	require.NoError(w.T, err)
	errs, err := cmd.StderrPipe()
	require.NoError(w.T, err)
	require.NoError(w.T, cmd.Start())
	x := &watch{t: w.T, cmd: cmd, lines: bufio.NewReader(out)}
	w.T.Cleanup(x.end)
	said := bufio.NewReader(errs)
	for line := ""; !strings.Contains(line, "Watches established"); {
		line, err = said.ReadString('\n')
		require.NoError(w.T, err, "inotifywait: %s", line)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // ends with inotifywait
	for _, f := range []io.Reader{out, errs} {
		require.NoError(w.T, f.(*os.File).SetReadDeadline(deadlineIn(harness.Patience)))
	}
	return x
}

// until reads the events before the one named.
func (x *watch) until(last string) []string {
	x.t.Helper()
	var events []string
	for {
		line, err := x.lines.ReadString('\n')
		require.NoError(x.t, err, "so far: %v", events)
		if line = strings.TrimSpace(line); line == last {
			return events
		}
		events = append(events, line)
	}
}

func (x *watch) end() {
	if x.cmd.ProcessState == nil {
		_ = unix.Kill(x.cmd.Process.Pid, unix.SIGTERM)
		_ = x.cmd.Wait()
	}
}

// A watch through the mount sees the holder's changes as a watch of a plain
// directory does.
func TestToolInotifySeesTheHoldersChanges(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	const changes = `echo x >new; echo y >>f; chmod 600 f; mv new newer; ln newer link; mkdir d; rmdir d; rm link newer; : >end`
	plain, mounted := startWatch(b.native), startWatch(b.stranger)
	b.same([]string{"sh", "-c", changes})
	want, got := plain.until("CREATE end"), mounted.until("CREATE end")
	require.Contains(t, want, "MODIFY f")
	require.Contains(t, want, "MOVED_TO newer")
	require.Equal(t, want, got)
	plain.end()
	mounted.end()
}

// A refused call causes no event.
func TestToolInotifySeesNoRefusedCall(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	mounted := startWatch(b.stranger)
	b.whileHeld(func(s harness.Workshop) {
		require.NotZero(t, s.Run("sh", "-c", "echo x >new").Exit)
		require.NotZero(t, s.Run("sh", "-c", "echo y >>f").Exit)
		require.NotZero(t, s.Run("mkdir", "d").Exit)
	})
	require.Empty(t, mounted.until("CREATE still holding"))
	mounted.end()
}

func deadlineIn(d time.Duration) time.Time { return time.Now().Add(d) }
