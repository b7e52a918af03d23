package cases

import (
	"encoding/binary"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

var watchCases = []Case{
	{Name: "inotify/directory", Run: func(t *Trial) { t.watch(".", unix.IN_ALL_EVENTS, directoryLife) }},
	{Name: "inotify/file", Run: func(t *Trial) { must(os.WriteFile(t.At("f"), nil, 0o666)); t.watch("f", unix.IN_ALL_EVENTS, fileLife) }},
	{Name: "inotify/removed", Run: func(t *Trial) { must(os.Mkdir(t.At("d"), 0o777)); t.watch("d", unix.IN_ALL_EVENTS, directoryEnd) }},
}

// watch notes the events of what life does to the trial's directory.
func (t *Trial) watch(name string, mask uint32, life func(*Trial)) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	must(err)
	defer unix.Close(fd) //nolint:errcheck // only read from
	if _, err = unix.InotifyAddWatch(fd, t.At(name), mask); err != nil {
		t.Result("watch", err)
		return
	}
	life(t)
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buf)
		if err != nil {
			return
		}
		t.noteEvents(buf[:n])
	}
}

func (t *Trial) noteEvents(b []byte) {
	for len(b) >= unix.SizeofInotifyEvent {
		mask, l := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
		name := strings.TrimRight(string(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+l]), "\x00")
		t.Note("%#x %s", mask, name)
		b = b[unix.SizeofInotifyEvent+l:]
	}
}

func directoryLife(t *Trial) {
	must(os.WriteFile(t.At("f"), []byte("text"), 0o666))
	must(os.Chmod(t.At("f"), 0o600))
	must(os.Truncate(t.At("f"), 2))
	_, err := os.ReadFile(t.At("f"))
	must(err)
	must(os.Link(t.At("f"), t.At("g")))
	must(os.Rename(t.At("g"), t.At("h")))
	must(os.Mkdir(t.At("d"), 0o777))
	must(os.Rename(t.At("h"), t.At("d", "h")))
	must(os.Rename(t.At("d", "h"), t.At("f")))
	must(os.Symlink("x", t.At("l")))
	must(unix.Setxattr(t.At("f"), "user.k", []byte("v"), 0))
	_, err = os.ReadDir(t.At("."))
	must(err)
	must(os.Remove(t.At("f")))
	must(os.RemoveAll(t.At("d")))
}

func fileLife(t *Trial) {
	f, err := os.OpenFile(t.At("f"), os.O_RDWR, 0)
	must(err)
	_, err = f.WriteString("text")
	must(err)
	_, err = f.ReadAt(make([]byte, 2), 0)
	must(err)
	must(f.Truncate(1))
	must(unix.Fallocate(int(f.Fd()), 0, 0, 100))
	must(f.Close())
	must(os.Chtimes(t.At("f"), t1, t1))
	must(os.Link(t.At("f"), t.At("g")))
	must(os.Remove(t.At("g")))
	must(os.Rename(t.At("f"), t.At("h")))
	must(os.WriteFile(t.At("h"), []byte("again"), 0))
	must(os.Remove(t.At("h")))
}

func directoryEnd(t *Trial) {
	must(os.WriteFile(t.At("d", "f"), nil, 0o666))
	must(os.Rename(t.At("d"), t.At("e")))
	must(os.RemoveAll(t.At("e")))
}
