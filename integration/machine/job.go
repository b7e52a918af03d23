package machine

import (
	"context"
	"os"
	"os/exec"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Job is a command that runs on a host beside the test.
type Job struct {
	Host *Host
	cmd  *exec.Cmd
	out  string
}

// Start starts a command on the host. It ends with the host.
func (h *Host) Start(argv ...string) *Job {
	h.T.Helper()
	f, err := os.CreateTemp(h.Dir, "job-")
	require.NoError(h.T, err)
	defer f.Close() //nolint:errcheck // the command has its own
	j := &Job{Host: h, cmd: h.Command(context.Background(), argv...), out: f.Name()}
	j.cmd.Stdout, j.cmd.Stderr = f, f
	require.NoError(h.T, j.cmd.Start())
	h.T.Cleanup(func() {
		if j.cmd.ProcessState == nil {
			_ = j.cmd.Process.Kill() // its child ends with the host
			_ = j.cmd.Wait()
		}
	})
	return j
}

// Said is what the command has printed so far.
func (j *Job) Said() string {
	text, err := os.ReadFile(j.out)
	require.NoError(j.Host.T, err)
	return string(text)
}

// Wait waits for the end.
func (j *Job) Wait() (exit int, said string) {
	j.Host.T.Helper()
	ended := make(chan struct{})
	go func() { _ = j.cmd.Wait(); close(ended) }() // ProcessState tells
	ctx, cancel := context.WithTimeout(context.Background(), 2*harness.Patience)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
		_ = j.cmd.Process.Kill()
		<-ended
		j.Host.T.Fatalf("%s: %v has no end\n%s%s", j.Host.Name, j.cmd.Args, j.Said(), j.Host.Logs())
	}
	return j.cmd.ProcessState.ExitCode(), j.Said()
}
