package transport

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A signal that comes before the request is in the ring is not told to us: the kernel has set FR_INTERRUPTED, and sends the
// INTERRUPT only if FR_SENT is set (request_wait_answer), as it is when the ring's thread has copied the request
// (fuse_uring_prepare_send). A reader of /dev/fuse looks for such a signal (fuse_dev_do_read), a ring does not. It is no rare
// case: who is killed while one request waits goes on with the next one of the same call. So who waits is looked at.
const (
	signalFirst = 10 * time.Millisecond
	signalMost  = 500 * time.Millisecond // there may be thousands
)

// watchSignal tells of a signal of the thread that waits for a request, once, before stop is closed.
func watchSignal(tid uint32, stop <-chan struct{}, tell func()) {
	for pause := signalFirst; ; pause = min(2*pause, signalMost) {
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
		status, err := os.ReadFile("/proc/" + strconv.FormatUint(uint64(tid), 10) + "/status")
		if gone := errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH); gone || hasSignal(status) {
			tell()
			return
		}
	}
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
