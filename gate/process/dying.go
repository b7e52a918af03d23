package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A caller that has got a signal is checked again and again: is it being killed? First after 10 ms,
// later every 200 ms, because thousands may have got another signal.
const (
	dyingFirst = 10 * time.Millisecond
	dyingMost  = 200 * time.Millisecond
)

// WhenDying waits until the caller of a request is being killed, and returns true. When stop is
// closed first it returns false. signal is closed at the caller's first signal, whichever that is;
// of later ones the kernel does not tell (fuse: FR_INTERRUPTED), so they are looked for.
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

// Dying reports whether a thread has been killed and only waits for its call to end. Whoever ends a
// process sends SIGKILL to each thread. Source: proc_pid_status(5).
func Dying(tid uint32) bool {
	if tid == 0 {
		return false // it is not visible from here
	}
	text, err := readSmall(procFile(int(tid), "status"))
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
