package transport

import (
	"errors"

	"golang.org/x/sys/unix"
)

// retryInt repeats a call that a signal interrupted: Go's own preemption does that, too.
func retryInt(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
