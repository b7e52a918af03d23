package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// earsDir is where the writers of a host listen that would be given the lease. It is the host's own.
const earsDir = "/run/torture"

// parting is how a writer gives its lease away while it continues to write.
func (w *worker) parting() func(*writeHandle) {
	x := w.rng.IntN(6)
	if w.Theme == passing {
		x = w.rng.IntN(5)
	}
	switch {
	case x < 3 && w.Without.has(opHandover):
		return w.give
	case (x == 3 || x == 4 && w.Theme == passing) && w.Without.has(opOffer) && w.Hosts > 1:
		return w.offer
	}
	return w.release
}

func (w *worker) ear(pid int) string {
	return filepath.Join(earsDir, fmt.Sprintf("%s-%s-%d", filepath.Base(w.Mountpoint), w.Place.ID, pid))
}

// beGiven waits for a writer that hands the lease over. A writer that does not learn whether it got the lease
// could not name the lease of its writes. So it ends, and its host starts another.
func (w *worker) beGiven() *writeHandle {
	l, err := net.Listen("unix", w.ear(os.Getpid()))
	if err != nil {
		return nil
	}
	_ = l.(*net.UnixListener).SetDeadline(time.Now().Add(time.Duration(w.LeaseMS) * time.Millisecond))
	conn, err := l.Accept()
	_ = l.Close()
	if err != nil {
		return nil
	}
	defer conn.Close() //nolint:errcheck // all has been read
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, "r"); err != nil {
		return nil // before that the giver asks nobody
	}
	line, _ := bufio.NewReader(conn).ReadString('\n')
	switch token, given := strings.CutPrefix(line, "given "); {
	case given:
		return w.openUnder(uint64(number(strings.TrimSpace(token))))
	case line == "":
		os.Exit(3)
	}
	return nil
}

// give hands the lease over to a writer of the same host that waits for it; without one it gives it back.
func (w *worker) give(h *writeHandle) {
	for end := time.Now().Add(time.Duration(w.LeaseMS) * time.Millisecond / 2); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		ears, _ := filepath.Glob(filepath.Join(earsDir, fmt.Sprintf("%s-%s-*", filepath.Base(w.Mountpoint), w.Place.ID)))
		for _, ear := range ears {
			if w.whisper(h, ear) {
				return
			}
		}
	}
	w.release(h)
}

// whisper hands the lease over to the one who listens; false if nobody does.
func (w *worker) whisper(h *writeHandle, ear string) bool {
	conn, err := net.Dial("unix", ear)
	if err != nil {
		return false
	}
	defer conn.Close() //nolint:errcheck // what was said was said
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	pid, _ := strconv.Atoi(ear[strings.LastIndexByte(ear, '-')+1:])
	if n, _ := conn.Read(make([]byte, 1)); n != 1 {
		return false
	}
	w.giveTo(h, pid, conn)
	return true
}

func (w *worker) giveTo(h *writeHandle, pid int, to io.Writer) {
	began := plan.Monotonic()
	a, err := w.control.ask(map[string]any{"op": "handover", "pid": pid, "wait_ms": w.LeaseMS})
	var refused refusal
	switch {
	case err == nil:
		w.gave(opHandover, h.token, a.Token, began)
		_, _ = fmt.Fprintf(to, "given %d\n", a.Token)
	case errors.As(err, &refused):
		w.gave(opHandover, h.token, 0, began)
		_, _ = io.WriteString(to, "no\n")
	}
}

// offer holds the lease up for whoever takes it on another host.
func (w *worker) offer(h *writeHandle) {
	other := (w.Host + 1 + int(h.token)%(w.Hosts-1)) % w.Hosts
	began := plan.Monotonic()
	patience := w.LeaseMS * 2
	if w.Theme == passing {
		patience *= 2
	}
	a, err := w.control.ask(map[string]any{"op": "handover", "host": nameOf(other), "wait_ms": patience})
	var refused refusal
	switch {
	case err == nil:
		w.gave(opOffer, h.token, a.Token, began)
	case errors.As(err, &refused):
		w.gave(opOffer, h.token, 0, began)
	}
}

// gave writes down what became of it; to is 0 when the daemon said no.
func (w *worker) gave(op string, from, to uint64, began int64) {
	w.note("O %s %d %d %d %d -%s\n", op, from, to, began, plan.Monotonic(), w.Place.ID)
}
