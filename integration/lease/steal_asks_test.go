package lease

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// conversation is a command on a real terminal, and what it has shown there.
type conversation struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	read sync.WaitGroup

	mu    sync.Mutex
	shown bytes.Buffer
}

// onTerminal starts a command on a terminal of its own.
func onTerminal(t *testing.T, argv ...string) *conversation {
	t.Helper()
	c := &conversation{t: t, cmd: exec.Command(argv[0], argv[1:]...)}
	var err error
	c.tty, err = pty.Start(c.cmd)
	require.NoError(t, err)
	c.read.Go(func() { _, _ = io.Copy(c, c.tty) }) // ends with EIO when nobody has the other side open
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_ = c.cmd.Process.Kill()
			_ = c.cmd.Wait()
		}
		c.read.Wait()
		require.NoError(t, c.tty.Close())
	})
	return c
}

// Write takes what the command shows.
func (c *conversation) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown.Write(p)
}

func (c *conversation) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown.String()
}

// shows waits until the text stands there.
func (c *conversation) shows(text string) {
	c.t.Helper()
	harness.EventuallyNoted(c.t, "it shows "+text, func() (bool, string) {
		return bytes.Contains([]byte(c.text()), []byte(text)), c.text()
	})
}

func (c *conversation) types(typed string) {
	c.t.Helper()
	_, err := io.WriteString(c.tty, typed)
	require.NoError(c.t, err)
}

// answer waits for the question, types, and returns the exit code.
func (c *conversation) answer(question, typed string) int {
	c.t.Helper()
	c.shows(question)
	c.types(typed)
	return c.wait()
}

// ends waits for the end of the command.
func (c *conversation) ends(exit int) {
	c.t.Helper()
	require.Equal(c.t, exit, c.wait(), c.text())
}

func (c *conversation) wait() int {
	c.t.Helper()
	timer := time.AfterFunc(harness.Patience, func() { _ = c.cmd.Process.Kill() })
	_ = c.cmd.Wait() // the exit code says it
	require.True(c.t, timer.Stop(), "no end within %s: %s", harness.Patience, c.text())
	c.read.Wait()
	if w := c.cmd.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() {
		return 128 + int(w.Signal()) // as a shell says it
	}
	return c.cmd.ProcessState.ExitCode()
}

// A steal shows whom it robs and asks. Only a yes on a terminal, or --yes, is one.
func TestAStealShowsTheHolderAndAsks(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.MustCLI("lock", "acquire", "--purpose", "a long build", "--pid", harness.PIDOf(a), m.Mountpoint)
	_, first := m.HeadClaim("")
	a.Stop()
	m.AwaitStealable("")
	steal := []string{m.Bin, "lock", "steal", "--pid", harness.PIDOf(b), m.Mountpoint}

	for typed, exit := range map[string]int{"n\n": 1, "\n": 1, "yep\n": 1, "\x04": 1, "\x03": 130} { // ^D, ^C
		c := onTerminal(t, steal...)
		require.Equal(t, exit, c.answer("Steal it? [y/N] ", typed), "%q: %s", typed, c.text())
		for _, part := range []string{first.HolderID, "a long build", "token    1", "is stopped", "since ", "until ", "ago)"} {
			require.Contains(t, c.text(), part)
		}
		_, head := m.HeadClaim("")
		require.Equal(t, first.TokenNumber(t), head.TokenNumber(t), "%q is no yes", typed)
	}

	out, errs, exit := m.CLI(steal[1:]...)
	require.Equal(t, harness.ExitUsage, exit, errs)
	require.Empty(t, out)
	require.Contains(t, errs, first.HolderID, "also without a terminal it says whom")
	require.Contains(t, errs, "--yes")
	_, errs, exit = m.CLI("lock", "steal", "--json", "--pid", harness.PIDOf(b), m.Mountpoint)
	require.Equal(t, harness.ExitUsage, exit, errs)
	require.Contains(t, errs, "--yes")
	_, head := m.HeadClaim("")
	require.Equal(t, first.TokenNumber(t), head.TokenNumber(t))

	c := onTerminal(t, steal...)
	require.Zero(t, c.answer("Steal it? [y/N] ", "y\n"), c.text())
	require.Contains(t, c.text(), "stole source: token 2")
	b.OK(m.Put("f"))
	a.Resume()
	a.Fails(m.Put("f"), "EROFS")
}

// The yes is about the holder that was shown: one that came since is not robbed by it.
func TestAConfirmedStealRobsNoLaterHolder(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a, b, c := harness.StartActor(t, "a"), harness.StartActor(t, "b"), harness.StartActor(t, "c")
	m.Acquire(a)
	a.Stop()
	m.AwaitStealable("")
	asked := onTerminal(t, m.Bin, "lock", "steal", "--pid", harness.PIDOf(b), m.Mountpoint)
	harness.Eventually(t, "it asks", func() bool { return bytes.Contains([]byte(asked.text()), []byte("[y/N]")) })
	m.Steal(c)
	c.Stop()
	m.AwaitStealable("")
	require.Equal(t, harness.ExitFencing, asked.answer("[y/N] ", "y\n"), asked.text())
	require.Contains(t, asked.text(), "changed hands")
	_, head := m.HeadClaim("")
	require.Equal(t, uint64(2), head.TokenNumber(t))
	for _, who := range []*harness.Actor{a, c} {
		who.Resume()
	}
}
