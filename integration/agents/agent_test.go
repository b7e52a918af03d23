package agents

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// run calls an agent as a cluster does.
func run(t *testing.T, agent string, lines ...string) (exit int, said string) {
	t.Helper()
	cmd := exec.Command(filepath.Join("..", "..", "scripts", "fence", agent))
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func does(t *testing.T, agent string, lines ...string) {
	t.Helper()
	exit, said := run(t, agent, lines...)
	require.Zero(t, exit, said)
}

func refuses(t *testing.T, why, agent string, lines ...string) {
	t.Helper()
	exit, said := run(t, agent, lines...)
	require.Equal(t, 1, exit, said)
	require.Contains(t, said, why)
}

// tool is a program of a shell body in place of a store's own. $calls is where it may write.
func tool(t *testing.T, body string) (path, calls string) {
	t.Helper()
	path, calls = filepath.Join(t.TempDir(), "tool"), filepath.Join(t.TempDir(), "calls")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\ncalls="+calls+"\n"+body+"\n"), 0o755))
	return path, calls
}

// lines are those of a file that may be missing.
func lines(path string) []string {
	text, _ := os.ReadFile(path)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
