package human

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// usualColumns is the width of a terminal that does not tell its own.
const usualColumns = 80

// Columns is how many columns the terminal has that w writes to, 0 if that is no terminal.
func Columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || f == nil {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0:
		return usualColumns
	}
	return int(size.Col)
}
