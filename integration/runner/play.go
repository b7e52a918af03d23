package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// outcome is what became of a story.
type outcome struct {
	story
	took   time.Duration
	cpu    time.Duration // of all its processes that somebody has waited for
	output []byte
	err    error // how its process ended, nil for 0
}

// runAll starts each story in its turn, and tells of each that has ended, one at a time. It returns when all have.
func runAll(ctx context.Context, stories []story, s *slots, timeout time.Duration, tell func(outcome)) {
	var mu sync.Mutex
	for _, st := range stories {
		if s.take(ctx) != nil {
			break
		}
		go func() {
			defer s.give()
			o := st.play(ctx, timeout)
			mu.Lock()
			defer mu.Unlock()
			tell(o)
		}()
	}
	s.rest()
}

// play runs one story to its end. A story that runs for the timeout is ended by its test binary, with its stacks; one that does not
// even do that is killed a minute later, and its namespaces with it (unshare --kill-child).
func (s story) play(ctx context.Context, timeout time.Duration) outcome {
	ctx, cancel := context.WithTimeout(ctx, timeout+time.Minute)
	defer cancel()
	// The marks of test2json tell the lines of the test from those of the programs that it starts.
	cmd := exec.CommandContext(ctx, s.binary, "-test.run", "^"+s.name+"$", "-test.v=test2json", "-test.timeout", timeout.String(), "-test.paniconexit0")
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "JVSFS_REQUIRE_FUSE=1")
	// A runner that is killed leaves no stories: unshare, which the story becomes, ends its namespaces. The thread that starts it must live
	// as long as it does (prctl(2), PR_SET_PDEATHSIG).
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	// A process that outlives its story and keeps its output open is for the story's own check to find.
	if errors.Is(err, exec.ErrWaitDelay) {
		err = errors.New("a process that the story has started holds its output open")
	}
	o := outcome{story: s, took: time.Since(began), output: out.Bytes(), err: err}
	if cmd.ProcessState != nil {
		o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return o
}
