package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/integration/operation"
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
	case x < 30 && h.mapped:
		c.Kind = callMap
	case x < 60 && mayName:
		c.Kind, c.Target = w.naming(x)
		if len(w.Places) > 1 && c.Kind == callCreate && x == 30 {
			at = w.elsewhere()
		}
	}
	w.note("I %c %d %d %d %d -%s -%s\n", c.Kind, c.Token, c.Handle, c.Seq, plan.Monotonic(), at.ID, c.Target)
	w.busy.Store(time.Now().UnixNano())
	result := w.do(&c, h, at)
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

// do performs the call. The page of a dead mount is a SIGBUS, which must not be the end of the writer.
func (w *worker) do(c *call, h *writeHandle, at place) string {
	o := w.operation(c, at)
	syncs := c.Kind == callMap && w.rng.IntN(4) > 0
	r := h.Perform(o)
	switch {
	case r.Errno != "":
	case syncs:
		r = h.Perform(operation.Command{Op: "msync", Name: o.Name, Off: o.Off, Len: pageSize})
	case c.Kind == callMap:
		return "unsynced" // nobody was asked whether it arrived
	case len(r.Vals) > 0 && r.Vals[0] != plan.RecordSize:
		return "short"
	case c.Kind == callCreate && at == w.Place:
		w.made = append(w.made, c.name())
	}
	return resultText(r)
}

// operation is what the call does.
func (w *worker) operation(c *call, at place) operation.Command {
	target := "made/" + c.Target
	switch c.Kind {
	case callSlot:
		return operation.Command{Op: "pwrite", Handle: "slots", Data: c.record().Encode(), Off: int64(slotOf(c.Kind, c.Seq) * plan.RecordSize)}
	case callMap:
		return operation.Command{Op: "store", Name: "pages", Data: c.record().Encode(), Off: int64(c.Seq % slotsCount * pageSize)}
	case callCreate:
		return operation.Command{Op: "create", Path: filepath.Join(w.Mountpoint, at.Rel, "made", c.name()), Mode: 0o600}
	case callUnlink:
		return operation.Command{Op: "unlink", Path: target}
	case callRename:
		return operation.Command{Op: "rename", Path: target, To: fmt.Sprint("saves/", c.Seq%slotsCount)}
	case callTruncate:
		return operation.Command{Op: "truncate", Path: target, Len: int64(c.Seq)}
	}
	return operation.Command{Op: "write", Handle: "log", Data: c.record().Encode()}
}

func (w *worker) note(format string, args ...any) {
	if _, err := fmt.Fprintf(w.history, format, args...); err != nil {
		fmt.Fprintln(os.Stderr, "torture worker:", err)
		os.Exit(1)
	}
}

// resultText is one word of the journal.
func resultText(r operation.Reply) string {
	if strings.ContainsAny(r.Errno, " \n") {
		return "other"
	}
	return cmp.Or(r.Errno, resultOK)
}
