package gate

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// How often it is looked whether a caller that has got a signal is being killed: soon at first, and seldom where a signal was
// another one, for there may be thousands of them.
const (
	dyingFirst = 10 * time.Millisecond
	dyingMost  = 200 * time.Millisecond
)

// WhenDying waits until the caller of a request is being killed, and returns true; or until stop, and returns false. The kernel tells
// of a caller's first signal alone (fuse: FR_INTERRUPTED), whichever it was: that is signal, and what comes later must be looked for.
func WhenDying(signal <-chan struct{}, tid uint32, stop <-chan struct{}) bool {
	select {
	case <-signal:
	case <-stop:
		return false
	}
	for pause := dyingFirst; !Dying(tid); pause = min(2*pause, dyingMost) {
		select {
		case <-time.After(pause):
		case <-stop:
			return false
		}
	}
	return true
}

// Dying reports whether a thread has been killed and waits for nothing but the end of a
// call. Source: proc_pid_status(5); whoever ends a process sends SIGKILL to each thread.
func Dying(tid uint32) bool {
	if tid == 0 {
		return false // it cannot be seen from here
	}
	text, err := readSmall("/proc/" + strconv.FormatUint(uint64(tid), 10) + "/status")
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) || killPending(text)
}

func killPending(status []byte) bool {
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "SigPnd" && string(name) != "ShdPnd" {
			continue
		}
		set, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
		if err == nil && set&(1<<(uint(unix.SIGKILL)-1)) != 0 {
			return true
		}
	}
	return false
}
