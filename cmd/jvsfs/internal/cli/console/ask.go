package console

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// AskYes asks on the terminal. The end of the input is a no, a signal ends the command.
func AskYes(ctx context.Context, std Streams, question string) (bool, error) {
	if _, err := io.WriteString(std.Err, question); err != nil {
		return false, err
	}
	line, err := readAnswer(ctx, std.In)
	if !strings.HasSuffix(line, "\n") {
		_, _ = io.WriteString(std.Err, "\n") // the cursor stands behind the question
	}
	if err != nil {
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// answerPoll is how soon a signal ends the wait for an answer, in milliseconds.
const answerPoll = 100

// readAnswer reads one line of a terminal, which gives lines as a whole. It never blocks
// in read(2), which a signal to another thread would not end.
func readAnswer(ctx context.Context, in *os.File) (string, error) {
	fd := int(in.Fd())
	buf := make([]byte, 256)
	for ctx.Err() == nil {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, answerPoll)
		if errors.Is(err, unix.EINTR) || err == nil && n == 0 {
			continue
		}
		if err != nil {
			return "", os.NewSyscallError("poll", err)
		}
		n, err = unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EIO) || err == nil && n == 0: // the terminal has hung up, or ^D
			return "", nil
		case err != nil:
			return "", os.NewSyscallError("read", err)
		}
		return string(buf[:n]), nil
	}
	return "", ctx.Err()
}
