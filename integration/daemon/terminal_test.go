package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// terminal is a real one: tmux emulates it, and tells what stands on its screen.
type terminal struct {
	t    *testing.T
	sock string
	raw  string // file of every byte that came to it
}

// newTerminal runs a line of shell in a terminal of that size. Its screen stays when the
// line has ended. env are settings NAME=VALUE.
func newTerminal(m *harness.Mount, width, height int, line string, env ...string) *terminal {
	m.T.Helper()
	dir, err := os.MkdirTemp(m.Base, "terminal-")
	require.NoError(m.T, err)
	c := &terminal{t: m.T, sock: filepath.Join(dir, "tmux"), raw: filepath.Join(dir, "raw")}
	config := filepath.Join(dir, "conf")
	require.NoError(m.T, os.WriteFile(config, []byte("set -g status off\nset -g default-terminal tmux-256color\nset -g default-shell /bin/sh\n"), 0o600))
	args := []string{"-u", "-f", config, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-e", "LC_ALL=C.UTF-8"}
	for _, setting := range env {
		args = append(args, "-e", setting)
	}
	// It begins when every byte of it is taken down. The shell outlives Ctrl-C.
	c.run(append(args, fmt.Sprintf("trap : INT; read go; stty sane; %s; echo ended with $?; read end", line))...)
	m.T.Cleanup(func() { _ = c.command("kill-server").Run() })
	c.run("pipe-pane", "-o", "cat >> "+c.raw)
	c.keys("Enter")
	return c
}

func (c *terminal) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", c.sock}, args...)...)
	cmd.Dir = "/"
	for _, setting := range os.Environ() { // what would tell the line about our own terminal
		if name, _, _ := strings.Cut(setting, "="); name != "TMUX" && name != "NO_COLOR" {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	return cmd
}

func (c *terminal) run(args ...string) string {
	c.t.Helper()
	out, err := c.command(args...).CombinedOutput()
	require.NoError(c.t, err, "tmux %v\n%s", args, out)
	return string(out)
}

// keys presses keys by tmux's names; other text is typed.
func (c *terminal) keys(keys ...string) {
	c.t.Helper()
	c.run(append([]string{"send-keys", "--"}, keys...)...)
}

func (c *terminal) resize(width, height int) {
	c.t.Helper()
	c.run("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
}

// screen is what stands there, as text.
func (c *terminal) screen() string {
	c.t.Helper()
	return c.run("capture-pane", "-p")
}

// coloured is the screen with its colours as control sequences.
func (c *terminal) coloured() string {
	c.t.Helper()
	return c.run("capture-pane", "-p", "-e")
}

// shows waits until all the texts stand on the screen, which it returns.
func (c *terminal) shows(texts ...string) (screen string) {
	c.t.Helper()
	harness.EventuallyNoted(c.t, fmt.Sprintf("the screen shows %q", texts), func() (bool, string) {
		screen = c.screen()
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false, "without " + text + "\n" + screen
			}
		}
		return true, screen
	})
	return screen
}

// bytes is all that came to the terminal.
func (c *terminal) bytes() string {
	c.t.Helper()
	text, err := os.ReadFile(c.raw)
	require.NoError(c.t, err)
	return string(text)
}
