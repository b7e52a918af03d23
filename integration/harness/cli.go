package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// LogFile is the daemon's log.
func (m *Mount) LogFile() string { return filepath.Join(m.Base, "daemon.log") }

// noEnd is the exit code of a command that did not end in time.
const noEnd = -1

// CLI runs jvsfs with args. A call that does not come back within the test's
// patience, or leaves somebody holding its output, fails the test.
func (m *Mount) CLI(args ...string) (stdout, stderr string, exit int) {
	m.T.Helper()
	for began := time.Now(); ; {
		stdout, stderr, exit = m.cliOnce(args...)
		if !asksDaemons(args) || !strings.Contains(stdout+stderr, noAnswer) || m.mayBeSilent() || time.Since(began) > Patience {
			return stdout, stderr, exit
		}
	}
}

// noAnswer is what is said of a daemon that did not answer within two seconds (client.StatusTimeout). A busy machine needs longer at times.
const noAnswer = "its daemon does not answer: it may be stopped"

// asksDaemons is whether a command says what daemons answer, and changes nothing.
func asksDaemons(args []string) bool {
	return len(args) > 0 && (args[0] == "status" || args[0] == "doctor") && !slices.Contains(args, "--repair")
}

// mayBeSilent is whether the story has stopped a daemon.
func (m *Mount) mayBeSilent() bool {
	return slices.ContainsFunc(m.Daemons(), func(pid int) bool { return ProcState(pid) == "T" })
}

func (m *Mount) cliOnce(args ...string) (stdout, stderr string, exit int) {
	m.T.Helper()
	ctx, cancel := context.WithTimeout(m.T.Context(), Patience)
	if m.T.Context().Err() != nil { // in a cleanup
		ctx, cancel = context.WithTimeout(context.Background(), Patience)
	}
	defer cancel()
	cmd := exec.CommandContext(ctx, m.Bin, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, "/"
	cmd.WaitDelay = Patience
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGQUIT) } // it says where it waits
	err := cmd.Run()
	var exited *exec.ExitError
	switch {
	case ctx.Err() != nil:
		m.T.Errorf("jvsfs %v: no end within %s\n%s", args, Patience, Shown(m.T, out.String()+errs.String()))
		return out.String(), errs.String(), noEnd
	case errors.Is(err, exec.ErrWaitDelay):
		m.T.Errorf("jvsfs %v: the output stays open after the end of the command", args)
	case err != nil && !errors.As(err, &exited):
		m.T.Errorf("jvsfs %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// MustCLI is CLI for commands that must succeed.
func (m *Mount) MustCLI(args ...string) string {
	m.T.Helper()
	out, errs, exit := m.CLI(args...)
	if exit != 0 {
		require.Zero(m.T, exit, "jvsfs %v\n%s", args, Shown(m.T, out+errs))
	}
	return out
}

// LogTail is the end of the daemon's log, for a failure's message.
func (m *Mount) LogTail() string {
	text, err := os.ReadFile(m.LogFile())
	if err != nil {
		return ""
	}
	return "\ndaemon log:\n" + string(text[max(0, len(text)-4000):])
}
