package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// mistake is one line that somebody types, and what it comes to.
type mistake struct {
	typed string // in bash; the names of the scene are variables
	exit  int
	says  string // part of the message
	next  string // part of what to do
}

// scene is the machine on which the mistakes are made: a repository and a directory that are mounted, a mount
// whose daemon was killed, and what is not mounted.
type scene struct {
	m     *harness.Mount
	names []string // of the variables
	value map[string]string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	m := harness.PrepareMount(t, harness.MountOptions{})
	s := &scene{m: m, value: map[string]string{"dead": m.Mountpoint, "locks": m.LockDir, "source": m.Source}}
	for _, dir := range []string{"repo/.jvs", "repo/main/sub", "repo/worktrees/a", "plain/sub", "other", "control", "torn/.jvs/audit", "torn/main", "a b"} {
		require.NoError(t, os.MkdirAll(filepath.Join(m.Base, dir), 0o755))
	}
	for _, name := range []string{"repo", "plain", "other", "torn", "nope", "file", "wrong.yaml", "torn.yaml", "control"} {
		s.value[strings.TrimSuffix(name, ".yaml")] = filepath.Join(m.Base, name)
	}
	for name, text := range map[string]string{
		"repo/.jvs/format_version": "1\n", "torn/.jvs/format_version": "1\n", "file": "text\n",
		"torn/.jvs/audit/audit.jsonl": "{\"event_type\":\n",
		"wrong.yaml":                  "lease_duration: 5\nonfree: deny\n", "torn.yaml": "source: [\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(m.Base, name), []byte(text), 0o644))
	}
	s.value["wrong"], s.value["tornyaml"] = filepath.Join(m.Base, "wrong.yaml"), filepath.Join(m.Base, "torn.yaml")
	s.value["torn"] = filepath.Join(m.Base, "torn")
	m.Mount()
	m.KillDaemon() // before there is another one
	s.mount(t, s.value["repo"])
	s.mount(t, s.value["plain"], "--control", s.value["control"])
	s.takeAddress(t)
	s.hold(t)
	for name := range s.value {
		s.names = append(s.names, name)
	}
	return s
}

func (s *scene) mount(t *testing.T, source string, options ...string) {
	t.Helper()
	log := filepath.Join(s.m.Base, filepath.Base(source)+".log")
	s.m.MustCLI(append([]string{"mount", source, "--log-file", log}, options...)...)
	t.Cleanup(func() { s.m.MustCLI("umount", source) })
}

// takeAddress listens where metrics might be served.
func (s *scene) takeAddress(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	s.value["taken"] = l.Addr().String()
}

// hold lets another shell of this user acquire the lease of plain, and stand in it.
func (s *scene) hold(t *testing.T) {
	t.Helper()
	shell := exec.Command("bash", "-c", `jvsfs lock acquire "$0" >/dev/null; cd "$0"; echo held; read -r end`, s.value["plain"])
	shell.Env = s.environment()
	in, err := shell.StdinPipe()
	require.NoError(t, err)
	out, err := shell.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, shell.Start())
	t.Cleanup(func() { _ = in.Close(); _ = shell.Wait() })
	line := make([]byte, len("held\n"))
	_, err = out.Read(line)
	require.NoError(t, err)
	s.value["holder"] = fmt.Sprint(shell.Process.Pid)
}

func (s *scene) environment() []string {
	env := append(os.Environ(), "PATH="+filepath.Dir(s.m.Bin)+":"+os.Getenv("PATH"))
	for name, value := range s.value {
		env = append(env, name+"="+value)
	}
	return env
}

// enter runs a line as an interactive shell would: jvsfs is its child.
func (s *scene) enter(t *testing.T, line string) (exit int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", line+"\nexit $?")
	cmd.Env, cmd.Dir = s.environment(), "/"
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exited *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exited) && ctx.Err() == nil, "%s: %v\n%s", line, err, errs.String())
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// programmers are words that come from libraries and tell nobody what to do.
var programmers = []string{"arg(s)", "strconv.", "time: ", "invalid argument", "pidfd_open", "json:", "%!", "<nil>", "see jvsfs --help", "goroutine", "0x"}

// Each mistake ends with its exit code, a message that names what is wrong, and the next step. Nothing is changed
// by any of them.
func TestEveryMistakeSaysWhatToDo(t *testing.T) {
	s := newScene(t)
	require.GreaterOrEqual(t, len(mistakes), 88)
	seen := map[string]bool{}
	for _, row := range mistakes {
		require.False(t, seen[row.typed], "twice in the table: %s", row.typed)
		seen[row.typed] = true
		t.Run(row.typed, func(t *testing.T) {
			exit, out, errs := s.enter(t, row.typed)
			expand := func(text string) string { return os.Expand(text, func(name string) string { return s.named(name) }) }
			require.Equal(t, row.exit, exit, "%s%s", out, errs)
			text := out + errs
			require.Contains(t, text, expand(row.says), "the message")
			_, next, found := strings.Cut(text, "next: ")
			if !found {
				_, next, found = strings.Cut(text, "fix: ")
			}
			require.True(t, found, "no next step: %s", text)
			require.Contains(t, next, expand(row.next), "the next step")
			for _, word := range programmers {
				require.NotContains(t, text, word)
			}
		})
	}
}

func (s *scene) named(name string) string {
	if value, ok := s.value[name]; ok {
		return value
	}
	return "$" + name
}

// Exec waits for every child that it has, also for the one that asks whether a mount is dead.
func TestExecStillKnowsADeadMountWhileItReapsChildren(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{})
	m.KillDaemon()
	for range 20 {
		_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "true")
		require.Equal(t, harness.ExitDead, exit)
		require.Contains(t, errs, "is dead")
	}
}
