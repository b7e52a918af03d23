package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// callTimeout ends a run that hangs: a FUSE daemon that does not answer would
// otherwise hold the client for ever.
const callTimeout = 3 * time.Minute

var errHangs = errors.New("does not answer")

// worker is the driver's side of a client process.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startWorker(mode, scratch string) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, mode)
	cmd.Env = append(os.Environ(), toolEnv(scratch)...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = ownGroup()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &worker{cmd, in, json.NewDecoder(out)}, cmd.Start()
}

// toolEnv makes the tools behave the same for everybody. The client's runtime must
// not interrupt it: a signal during a request is one more request.
func toolEnv(scratch string) []string {
	return []string{
		"LC_ALL=C", "HOME=" + scratch, "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=2",
		"GOCACHE=" + scratch + "/gocache", "GOPATH=" + scratch + "/gopath", "GOPROXY=off",
		"GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "CGO_ENABLED=0",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@localhost",
		"GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@localhost",
	}
}

func (w *worker) pid() int { return w.cmd.Process.Pid }

// call sends one request and waits for the answer to it.
func (w *worker) call(ctx context.Context, q request) (answer, error) {
	done := make(chan error, 1)
	var a answer
	go func() {
		err := json.NewEncoder(w.in).Encode(q)
		if err == nil {
			err = w.out.Decode(&a)
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil && a.Error != "" {
			err = errors.New(a.Error)
		}
		return a, err
	case <-ctx.Done():
		return answer{}, errHangs
	case <-time.After(callTimeout):
		return answer{}, fmt.Errorf("%s on %s: %w", q.Row, q.Box.Target, errHangs)
	}
}

// stop ends the client. One that hangs in a mount is let go when that is unmounted.
func (w *worker) stop() {
	_ = w.in.Close()
	ended := make(chan struct{})
	go func() { _ = w.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		_ = unix.Kill(-w.pid(), unix.SIGKILL) // and the tool that it has started
	}
}

// ownGroup keeps the signals of a terminal away from a process that must clean up.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
