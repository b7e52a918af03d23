package machine

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Command is a command on the host.
func (h *Host) Command(ctx context.Context, argv ...string) *exec.Cmd {
	in := []string{"-t", strconv.Itoa(h.Init), "-m", "-u", "-p", "-T"}
	if h.net {
		in = append(in, "-n")
	}
	cmd := exec.CommandContext(ctx, "nsenter", append(append(in, "--"), argv...)...)
	cmd.Dir = "/"
	return cmd
}

// Run runs a command on the host to its end.
func (h *Host) Run(argv ...string) (said string, exit int) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), h.Most)
	defer cancel()
	cmd := h.Command(ctx, argv...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = harness.Patience
	err := cmd.Run()
	var exited *exec.ExitError
	if ctx.Err() != nil {
		h.T.Fatalf("%s: %v has no end\n%s%s", h.Name, argv, out.String(), h.Logs())
	}
	if err != nil && !errors.As(err, &exited) {
		h.T.Fatalf("%s: %v: %v\n%s", h.Name, argv, err, out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// Must is Run for what must succeed.
func (h *Host) Must(argv ...string) string {
	h.T.Helper()
	said, exit := h.Run(argv...)
	require.Zero(h.T, exit, "%s: %v\n%s%s", h.Name, argv, said, h.Logs())
	return said
}

// Sh is a line of shell that must succeed.
func (h *Host) Sh(line string) string {
	h.T.Helper()
	return h.Must("sh", "-c", line)
}

// Processes are those of the host whose command line, with a space behind each word, has a shell pattern. The shell that looks has it
// in its own, so it leaves itself and its parents out.
func (h *Host) Processes(pattern string) []string {
	h.T.Helper()
	return strings.Fields(h.Sh(`exec 2>/dev/null; for p in /proc/[0-9]*; do case ${p#/proc/} in 1|$$) continue;; esac
		case " $(tr '\0' ' ' <$p/cmdline)" in ` + pattern + `) echo "${p#/proc/}";; esac; done; true`))
}

// Signal sends a signal to processes of the host.
func (h *Host) Signal(name string, pids []string) {
	h.T.Helper()
	h.Must(append([]string{"kill", "-" + name}, pids...)...)
}
