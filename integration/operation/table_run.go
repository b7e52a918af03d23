package operation

import (
	"errors"
	"os/exec"
	"syscall"
)

func init() { add(map[string]operation{"run": {"args", run}}) }

// run starts a program and waits for it. Path is its directory; Name "setsid" starts it in a session of its own.
// The answer is the exit code, the signal if one ended it, and standard output and error together.
func run(b *Box, c Command) error {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Path
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: c.Name == "setsid"}
	out, err := cmd.CombinedOutput()
	b.Data = out
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		return err
	}
	if status, is := cmd.ProcessState.Sys().(syscall.WaitStatus); is && status.Signaled() {
		b.Vals = []int64{-1, int64(status.Signal())}
		return nil
	}
	return b.count(cmd.ProcessState.ExitCode(), nil)
}
