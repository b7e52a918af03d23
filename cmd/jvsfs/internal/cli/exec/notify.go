package exec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
)

// What --notify runs is no child of exec: exec waits for all its children, and ends those that are left. So a
// process of its own (notifier.go) runs it. That ends when the pipe from exec ends, and exec prints what it says
// until then.

// notifierPatience is how long exec waits until the notifier knows what was refused before.
const notifierPatience = 5 * time.Second

// notifierReady is the first line of a notifier.
const notifierReady = "ready\n"

// startNotifier starts the notifier, if --notify asks for one. end tells it that this process ends, and does not
// wait for it.
func (e *Command) startNotifier() (end func(), err error) {
	if e.notify == "" {
		return func() {}, nil
	}
	self, err := process.ReadStat(os.Getpid())
	if err != nil {
		return nil, err
	}
	wordR, wordW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer host.CloseFile(wordR)
	saysR, saysW, err := os.Pipe()
	if err != nil {
		host.CloseFile(wordW)
		return nil, err
	}
	defer host.CloseFile(saysW)
	cmd := exec.Command("/proc/self/exe", notifierName, "--detach", strconv.Itoa(os.Getpid()), strconv.FormatUint(self.Start, 10), e.notify)
	cmd.ExtraFiles = []*os.File{wordR, saysW}
	if err := host.RunChild(cmd); err != nil {
		host.CloseFile(wordW)
		host.CloseFile(saysR)
		return nil, fmt.Errorf("--notify: %w", err)
	}
	host.CloseFile(saysW) // only the notifier has it: its end is the end of what it says
	says, err := awaitNotifier(saysR)
	if err != nil {
		host.CloseFile(wordW)
		host.CloseFile(saysR)
		return nil, err
	}
	said := make(chan struct{})
	go func() { // ends when the pipe does, or with end
		defer close(said)
		_, _ = io.Copy(e.IO.Err, says) // what cannot be shown is not for a program
	}()
	return func() {
		host.CloseFile(wordW)
		_ = saysR.SetReadDeadline(time.Now()) // what was said until now has been copied, or is copied now
		<-said
		host.CloseFile(saysR)
	}, nil
}

func awaitNotifier(r *os.File) (*bufio.Reader, error) {
	_ = r.SetReadDeadline(time.Now().Add(notifierPatience)) // a pipe takes one
	says := bufio.NewReader(r)
	line, err := says.ReadString('\n')
	if err == nil && line != notifierReady {
		err = errors.New(line)
	}
	if err != nil {
		return nil, &api.Failure{Message: fmt.Sprintf("--notify cannot be served: %v", err), Next: "try again, or leave it out"}
	}
	return says, r.SetReadDeadline(time.Time{})
}

// detached starts this command again as a process whose parent is not exec, and leaves it alone.
func detached(args []string) error {
	cmd := exec.Command("/proc/self/exe", append([]string{notifierName}, args...)...)
	cmd.ExtraFiles = []*os.File{os.NewFile(notifierWord, "word"), os.NewFile(notifierSays, "says")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
