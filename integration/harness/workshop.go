package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// toolTime bounds one run of a tool: compilers on a busy machine take a while. Only one that hangs needs so long.
var toolTime = OnThisMachine(10 * time.Minute)

// ToolRun is what one run of a tool came to.
type ToolRun struct {
	Exit      int
	Out, Errs string
}

// Workshop is where other people's programs run: a directory, and the user who runs them. The programs know
// nothing of jvsfs.
type Workshop struct {
	T      *testing.T
	Dir    string   // their working directory; {} in an argument stands for it
	Prefix []string // what makes them the holder, nil for nobody
	Env    []string
}

// Run runs a tool in a session of its own, so that nothing of the test makes
// it a member of anything.
func (w Workshop) Run(argv ...string) ToolRun {
	w.T.Helper()
	r, err := w.Try(argv...)
	require.NoError(w.T, err)
	return r
}

// Try is run for other goroutines than the test's own. An error says that the tool did not run to its end.
func (w Workshop) Try(argv ...string) (ToolRun, error) {
	ctx, cancel := context.WithTimeout(context.Background(), toolTime)
	defer cancel()
	argv = append(append([]string{}, w.Prefix...), argv...)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{}", w.Dir)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = &out, &errs, w.Dir, w.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = Patience
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		return ToolRun{}, fmt.Errorf("%v: %w\n%s%s", argv, err, out.String(), errs.String())
	}
	if ctx.Err() != nil {
		return ToolRun{}, fmt.Errorf("%v: no end within %s", argv, toolTime)
	}
	return ToolRun{cmd.ProcessState.ExitCode(), out.String(), errs.String()}, nil
}

// OK runs a tool that must succeed and returns what it printed.
func (w Workshop) OK(argv ...string) string {
	w.T.Helper()
	r := w.Run(argv...)
	if r.Exit != 0 {
		require.Zero(w.T, r.Exit, "%v\n%s", argv, Shown(w.T, r.Out+r.Errs))
	}
	return r.Out
}

// Fails runs a tool that must fail, with this exit code and this message.
func (w Workshop) Fails(exit int, message string, argv ...string) {
	w.T.Helper()
	r := w.Run(argv...)
	if r.Exit != exit {
		require.Equal(w.T, exit, r.Exit, "%v\n%s", argv, Shown(w.T, r.Out+r.Errs))
	}
	require.Contains(w.T, r.Out+r.Errs, message, "%v", argv)
}
