package cases

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// command makes one call; the note says what it returned besides an errno.
type command func(t *Trial, args []string) (note string, err error)

var commands = map[string]command{}

// register adds commands of one kind; files call it from an init.
func register(some map[string]command) {
	for name, c := range some {
		commands[name] = c
	}
}

// openFile is a kept descriptor.
type openFile struct{ fd int }

func (t *Trial) keep(name string, fd int) {
	if t.files == nil {
		t.files = make(map[string]*openFile)
	}
	f := &openFile{fd}
	t.files[name] = f
	t.Later(f.close)
}

func (f *openFile) close() {
	if f.fd >= 0 {
		_ = unix.Close(f.fd)
		f.fd = -1
	}
}

// fd is a kept descriptor, or -1 for one that could not be opened.
func (t *Trial) fd(name string) int {
	if f := t.files[name]; f != nil {
		return f.fd
	}
	return -1
}

func init() {
	register(map[string]command{
		"open":  openCommand,
		"close": closeCommand,
		"create": func(t *Trial, a []string) (string, error) {
			return openCommand(t, []string{a[0], "wo,creat,excl", arg(a, 1, "0644")})
		},
		"fill":   fillCommand,
		"umask":  func(_ *Trial, a []string) (string, error) { unix.Umask(octal(a[0])); return "", nil },
		"chdir":  func(_ *Trial, a []string) (string, error) { return "", unix.Chdir(a[0]) },
		"fchdir": func(t *Trial, a []string) (string, error) { return "", unix.Fchdir(t.fd(a[0])) },
		"getcwd": func(t *Trial, _ []string) (string, error) {
			buf := make([]byte, unix.PathMax)
			n, err := unix.Getcwd(buf)
			return strings.TrimPrefix(strings.TrimRight(string(buf[:max(n, 0)]), "\x00"), t.Dir), err
		},
	})
}

func arg(a []string, i int, or string) string {
	if i < len(a) {
		return a[i]
	}
	return or
}

func octal(s string) int {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil {
		panic(err)
	}
	return int(n)
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

var openFlags = map[string]int{
	"ro": unix.O_RDONLY, "wo": unix.O_WRONLY, "rw": unix.O_RDWR, "acc3": 3, "creat": unix.O_CREAT, "excl": unix.O_EXCL,
	"trunc": unix.O_TRUNC, "append": unix.O_APPEND, "dir": unix.O_DIRECTORY, "nofollow": unix.O_NOFOLLOW,
	"path": unix.O_PATH, "tmp": unix.O_TMPFILE, "noatime": unix.O_NOATIME, "direct": unix.O_DIRECT,
	"sync": unix.O_SYNC, "dsync": unix.O_DSYNC, "nonblock": unix.O_NONBLOCK, "async": unix.O_ASYNC,
}

func flagsOf(s string, table map[string]int) (flags int) {
	for name := range strings.SplitSeq(s, ",") {
		bits, known := table[name]
		if !known {
			panic("no flag " + name)
		}
		flags |= bits
	}
	return flags
}

// openCommand is "open PATH FLAGS [MODE] [=HANDLE]".
func openCommand(t *Trial, a []string) (string, error) {
	handle := ""
	if last := a[len(a)-1]; strings.HasPrefix(last, "=") {
		handle, a = last[1:], a[:len(a)-1]
	}
	flags := flagsOf(a[1], openFlags)
	// Nobody reads or writes the FIFOs of the cases.
	fd, err := unix.Open(a[0], flags|unix.O_NONBLOCK|unix.O_CLOEXEC, uint32(octal(arg(a, 2, "0644"))))
	if err != nil {
		return "", err
	}
	if handle == "" {
		return "", unix.Close(fd)
	}
	t.keep(handle, fd)
	return "", nil
}

func closeCommand(t *Trial, a []string) (string, error) {
	f := t.files[a[0]]
	if f == nil || f.fd < 0 {
		return "", unix.EBADF
	}
	fd := f.fd
	f.fd = -1
	return "", unix.Close(fd)
}

// fillCommand is "fill PATH SIZE [MODE]": makes a file with that many bytes.
func fillCommand(_ *Trial, a []string) (string, error) {
	err := os.WriteFile(a[0], pattern(int(number(a[1])), 7), 0o600)
	if err != nil {
		return "", err
	}
	return "", unix.Chmod(a[0], uint32(octal(arg(a, 2, "0644"))))
}

// pattern is data in which each piece differs from the next.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func counted(n int, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprint(n), nil
}
