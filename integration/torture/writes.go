package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// write does one call and notes the result. A change of a name is judged by the writer, not by a handle. So it
// is done only if the writer knows its lease: the latest one, taken on purpose.
func (w *worker) write(h *writeHandle, mayName bool) string {
	w.seq++
	c := call{Kind: callAppend, Token: h.token, Host: w.Host, PID: os.Getpid(), Handle: h.number, Seq: w.seq}
	at := w.Place
	switch x := w.rng.IntN(100); {
	case x < 20:
		c.Kind = callSlot
	case x < 30 && h.pages != nil:
		c.Kind = callMap
	case x < 60 && mayName:
		c.Kind, c.Target = w.naming(x)
		if len(w.Places) > 1 && c.Kind == callCreate && x == 30 {
			at = w.elsewhere()
		}
	}
	w.note("I %c %d %d %d %d -%s -%s\n", c.Kind, c.Token, c.Handle, c.Seq, plan.Monotonic(), at.ID, c.Target)
	w.busy.Store(time.Now().UnixNano())
	result := resultText(w.do(&c, h, at))
	w.busy.Store(0)
	w.note("R %d %d %s\n", c.Seq, plan.Monotonic(), result)
	return result
}

// elsewhere is a worktree whose lease this writer does not have.
func (w *worker) elsewhere() place {
	for {
		if p := w.Places[w.rng.IntN(len(w.Places))]; p != w.Place {
			return p
		}
	}
}

// naming chooses a change of names. The length of a file is changed once at most, and it is removed once at
// most. So each observation has one explanation.
func (w *worker) naming(x int) (kind byte, target string) {
	switch {
	case x < 40 || len(w.made) == 0:
		return callCreate, ""
	case x < 46 && w.lengths < len(w.made):
		w.lengths++
		return callTruncate, w.made[w.lengths-1]
	}
	kind, target = callUnlink, w.made[0]
	if x%2 == 0 {
		kind = callRename
	}
	w.made, w.lengths = w.made[1:], max(w.lengths-1, 0)
	return kind, target
}

func (w *worker) do(c *call, h *writeHandle, at place) (err error) {
	n := plan.RecordSize
	switch c.Kind {
	case callAppend:
		n, err = unix.Write(h.log, c.record().Encode())
	case callSlot:
		n, err = unix.Pwrite(h.slots, c.record().Encode(), int64(slotOf(c.Kind, c.Seq)*plan.RecordSize))
	case callMap:
		err = h.store(c.Seq, c.record(), w.rng.IntN(4) > 0)
	case callCreate:
		err = w.create(c, at)
	case callUnlink:
		err = unix.Unlink(w.path("made", c.Target))
	case callRename:
		err = unix.Rename(w.path("made", c.Target), w.path("saves", fmt.Sprint(c.Seq%slotsCount)))
	case callTruncate:
		err = unix.Truncate(w.path("made", c.Target), int64(c.Seq))
	}
	if err == nil && n != plan.RecordSize {
		return errors.New("short")
	}
	return err
}

func (w *worker) create(c *call, at place) error {
	fd, err := unix.Open(filepath.Join(w.Mountpoint, at.Rel, "made", c.name()), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	if at == w.Place {
		w.made = append(w.made, c.name())
	}
	return unix.Close(fd)
}

func (w *worker) note(format string, args ...any) {
	if _, err := fmt.Fprintf(w.history, format, args...); err != nil {
		fmt.Fprintln(os.Stderr, "torture worker:", err)
		os.Exit(1)
	}
}

func resultText(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return resultOK
	case errors.As(err, &errno):
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
	}
	return "other"
}
