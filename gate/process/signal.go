package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Signalled reports whether a thread has a signal that interrupts it, or has ended.
func Signalled(tid uint32) bool {
	status, err := readSmall(procFile(int(tid), "status"))
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) || hasSignal(status)
}

// hasSignal reports whether a thread has a signal that interrupts it. Source: proc_pid_status(5).
func hasSignal(status []byte) bool {
	var pending, blocked uint64
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		set, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
		if err != nil {
			continue
		}
		switch string(name) {
		case "SigPnd", "ShdPnd":
			pending |= set
		case "SigBlk":
			blocked = set
		}
	}
	return pending&^blocked != 0
}
