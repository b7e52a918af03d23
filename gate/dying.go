package gate

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Dying reports whether a thread has been killed and waits for nothing but the end of a
// call. Source: proc_pid_status(5); whoever ends a process sends SIGKILL to each thread.
func Dying(tid uint32) bool {
	text, err := os.ReadFile("/proc/" + strconv.FormatUint(uint64(tid), 10) + "/status")
	return tid != 0 && (errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) || killPending(text))
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
