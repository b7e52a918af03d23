package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// freezing stops one thread of a process, wherever it is, while the other threads run. A stop of the whole
// process can never show that another thread did something too early. Only a tracer can do that. It is a
// process of its own, because the waits of a tracer and those of a parent interfere.
type freezing struct {
	Seed uint64
	PID  int
	For  time.Duration
}

// stopThread starts the tracer. Needs mu.
func (h *host) stopThread() {
	if h.daemon == 0 {
		return
	}
	f := freezing{Seed: h.rng.Uint64(), PID: h.daemon, For: h.pause()}
	text, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	if err := exec.Command("/proc/self/exe", "freeze", string(text)).Start(); err != nil { // reap waits for it
		panic(err)
	}
	h.note("thread", "stop", f.For)
}

// run is the tracer. It is no error if the thread or the process has ended.
func (f freezing) run() error {
	runtime.LockOSThread()                                      // the kernel knows the thread as the tracer
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", f.PID)) // none of a process that has ended
	if len(tasks) == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(f.Seed, 1))
	tid, err := strconv.Atoi(tasks[rng.IntN(len(tasks))].Name())
	if err != nil {
		return err
	}
	if !seized(tid) {
		return nil
	}
	for end := time.Now().Add(f.For); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ended(tid) {
			return nil
		}
	}
	_ = unix.PtraceDetach(tid)
	return nil
}

func seized(tid int) bool { return unix.PtraceSeize(tid) == nil && unix.PtraceInterrupt(tid) == nil }

// ended is whether a traced thread is gone.
func ended(tid int) bool {
	var ws unix.WaitStatus
	got, err := unix.Wait4(tid, &ws, unix.WNOHANG|unix.WALL, nil)
	return err != nil || got == tid && !ws.Stopped()
}
