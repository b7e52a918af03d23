package harness

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// The operation "run" lets an actor start a program and wait for it: a
// descendant of the actor. To is the line for sh, Path its directory; Name
// "setsid" starts it in a session of its own. The answer is the exit code, and
// standard output and error together.
//
// An init of its own, after that of actor_ops_test.go, which makes the map:
// go runs the inits of a package in the order of the file names.
func init() { ActorOps["run"] = opRun }

func opRun(s *Stage, c Command) error {
	cmd := exec.Command("/bin/sh", "-c", c.To)
	cmd.Dir = c.Path
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: c.Name == "setsid"}
	out, err := cmd.CombinedOutput()
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		err = nil
	}
	if cmd.ProcessState == nil {
		return unix.ENOEXEC
	}
	s.Data = out
	return s.Count(cmd.ProcessState.ExitCode(), err)
}

// Run lets the actor run a line of shell in dir; how is "" or "setsid".
func (a *Actor) Run(dir, how, line string) (exit int64, out string) {
	a.T.Helper()
	r := a.OK(Command{Op: "run", Path: dir, To: line, Name: how})
	return r.Vals[0], string(r.Data)
}
