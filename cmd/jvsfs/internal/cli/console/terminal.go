package console

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenTerminal is the terminal that controls this process, nil for none. It is not always standard input: in a pipeline CMD reads its
// keys from /dev/tty.
func OpenTerminal() *os.File {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	return tty
}

// TerminalOf is the terminal behind a stream, nil for anything else.
func TerminalOf(w io.Writer) *os.File {
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(f) {
		return nil
	}
	return f
}

// DumbTerminal tells whether the terminal takes no control sequences.
func DumbTerminal() bool {
	term := os.Getenv("TERM")
	return term == "" || term == "dumb"
}

// IsTerminal reports whether a stream of a command is one.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok || f == nil {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
