package cases

import (
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

var socketCases = []Case{{Name: "socket/stream", Run: streamCase}, {Name: "fifo/transfer", Run: fifoCase}, {Name: "fifo/modes", Run: fifoModesCase}}

// streamCase talks through a socket by its name; names of sockets are short, so it
// goes there by a descriptor of the directory.
func streamCase(t *Trial) {
	t.as("0", func() {
		l, err := net.Listen("unix", "s")
		must(err)
		defer l.Close() //nolint:errcheck // only read from
		go func() {
			c, err := l.Accept()
			if err == nil {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}
		}()
		must(os.Link("s", "other"))
		c, err := net.Dial("unix", "other")
		t.Result("dial by another name", err)
		if err != nil {
			return
		}
		_, err = c.Write([]byte("echo"))
		must(err)
		must(c.(*net.UnixConn).CloseWrite())
		text, err := io.ReadAll(c)
		t.Note("%s %s", text, errnoOf(err))
		must(os.Remove("other"))
		_, err = net.Dial("unix", "other")
		t.Result("dial what is gone", err)
	})
}

func fifoCase(t *Trial) {
	must(unix.Mkfifo(t.At("p"), 0o666))
	done := make(chan string)
	go func() {
		text, err := os.ReadFile(t.At("p"))
		done <- digest(text) + errnoOf(err)
	}()
	t.Result("write", os.WriteFile(t.At("p"), operation.Pattern(200000, 5), 0))
	t.Note("%s", <-done)
}

func fifoModesCase(t *Trial) {
	must(unix.Mkfifo(t.At("p"), 0o666))
	_, err := unix.Open(t.At("p"), unix.O_WRONLY|unix.O_NONBLOCK, 0)
	t.Result("write with no reader", err)
	r := t.openAt("p", unix.O_RDONLY|unix.O_NONBLOCK)
	w := t.openAt("p", unix.O_WRONLY|unix.O_NONBLOCK)
	_, err = unix.Read(r, make([]byte, 1))
	t.Result("read nothing", err)
	_, err = unix.Write(w, []byte("x"))
	t.Result("write", err)
	must(os.Remove(t.At("p")))
	n, err := unix.Read(r, make([]byte, 5))
	t.Note("read after removal: %d %s", n, errnoOf(err))
}
