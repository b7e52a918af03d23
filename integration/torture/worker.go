package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// workerConfig is a writer process.
type workerConfig struct {
	Seed       uint64
	Host       int
	Mountpoint string
	History    string // directory for the history
	OnPurpose  bool   // take leases on purpose only; else writes may take them, too
	LeaseMS    int
	Patient    bool // holds its leases for long, so that they are renewed often
}

// worker writes under leases that it takes, and goes on writing when it has lost them, as a process does that does not know.
type worker struct {
	workerConfig
	rng     *rand.Rand
	control control
	history *os.File
	seq     int
	handles int
	over    atomic.Bool // the end of the history has come
	old     []*writeHandle
}

// writeHandle is what a writer has open under one lease.
type writeHandle struct {
	number int
	token  uint64
	log    int
	slots  int
}

func runWorker(cfg workerConfig) error {
	w := &worker{workerConfig: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 7)), control: control{cfg.Mountpoint}}
	name := filepath.Join(cfg.History, fmt.Sprintf("h%d-p%d", cfg.Host, os.Getpid()))
	var err error
	if w.history, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the end
		w.over.Store(true)
	}()
	for !w.over.Load() {
		h := w.take()
		if h == nil {
			w.rest(25)
			continue
		}
		w.use(h)
		w.retire(h)
	}
	return nil
}

// rest sleeps for up to so many milliseconds.
func (w *worker) rest(ms int) { time.Sleep(time.Duration(w.rng.IntN(ms*1000)) * time.Microsecond) }

// take gets a lease, and a handle that is known to be of it; nil when it is not to be had now.
func (w *worker) take() *writeHandle {
	if w.OnPurpose || w.rng.IntN(3) == 0 {
		op := "acquire"
		if w.rng.IntN(4) == 0 {
			op = "steal"
		}
		request := map[string]any{"op": op}
		if op == "acquire" {
			request["steal"] = w.rng.IntN(2) == 0
			if w.rng.IntN(8) == 0 {
				request["wait_ms"] = w.LeaseMS * 2
			}
		}
		a, err := w.control.ask(request)
		if err != nil {
			return nil
		}
		if w.OnPurpose {
			return w.open(a.Token)
		}
	}
	// A write may take the lease: the token is the one that is on top before and after.
	for range 2 {
		before, err := w.control.ask(map[string]any{"op": "lock_status"})
		if err != nil {
			return nil
		}
		h := w.open(before.Result.Token)
		if h == nil {
			return nil
		}
		after, err := w.control.ask(map[string]any{"op": "lock_status"})
		if err == nil && after.Result.Token == h.token {
			return h
		}
		h.close()
	}
	return nil
}

func (w *worker) open(token uint64) *writeHandle {
	w.handles++
	h := &writeHandle{number: w.handles, token: token, log: -1, slots: -1}
	var err error
	if h.log, err = unix.Open(filepath.Join(w.Mountpoint, "log"), unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0); err == nil {
		h.slots, err = unix.Open(filepath.Join(w.Mountpoint, "slots"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		h.close()
		return nil
	}
	return h
}

func (h *writeHandle) close() {
	for _, fd := range []int{h.log, h.slots} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// retire keeps a few handles of old leases: they must stay dead.
func (w *worker) retire(h *writeHandle) {
	w.old = append(w.old, h)
	if len(w.old) > 3 {
		w.old[0].close()
		w.old = w.old[1:]
	}
}

// use writes for a while, and gives the lease back, or not, or from beside while a write is on its way.
func (w *worker) use(h *writeHandle) {
	lease := time.Duration(w.LeaseMS) * time.Millisecond
	end := time.Now().Add(time.Duration(w.rng.Int64N(int64(lease/5))) + lease/50)
	limit := 1 + w.rng.IntN(15) // refusals
	if w.Patient || w.rng.IntN(5) == 0 {
		end, limit = end.Add(time.Duration(w.rng.Int64N(int64(3*lease)))), 150 // does not give up either
	}
	released := make(chan struct{})
	how := w.rng.IntN(6)
	if how == 0 {
		wait := time.Until(end) / 2
		go func() { // joined below
			defer close(released)
			time.Sleep(wait)
			w.release(h)
		}()
	}
	failures := 0
	for failures < limit && (time.Now().Before(end) || failures > 0) && !w.over.Load() {
		if w.write(h, w.OnPurpose) == resultOK {
			failures = 0
		} else {
			failures++
			w.rest(10)
		}
		if len(w.old) > 0 && w.rng.IntN(50) == 0 {
			w.write(w.old[w.rng.IntN(len(w.old))], false)
		}
		if w.rng.IntN(4) == 0 {
			w.rest(2)
		}
	}
	if how == 0 {
		<-released
	} else if how < 5 {
		w.release(h)
		w.write(h, w.OnPurpose)
		w.rest(50) // others, too
	}
}

func (w *worker) release(h *writeHandle) {
	_, _ = w.control.ask(map[string]any{"op": "release", "fencing_token": h.token}) // lost already, or taken back: all the same
}

// write does one call and writes down what came of it. Who may make a file is judged by the writer and not by a handle, so that
// is done only where the writer knows which lease it would be under: its latest one, taken on purpose.
func (w *worker) write(h *writeHandle, mayMake bool) string {
	w.seq++
	c := call{Kind: callAppend, Token: h.token, Host: w.Host, PID: os.Getpid(), Handle: h.number, Seq: w.seq}
	switch x := w.rng.IntN(10); {
	case x < 3:
		c.Kind = callSlot
	case x < 4 && mayMake:
		c.Kind = callCreate
	}
	r := plan.Record{Kind: plan.KindData, Token: c.Token, Host: c.Host, PID: c.PID, Handle: c.Handle, Seq: c.Seq}
	w.note("I %c %d %d %d %d\n", c.Kind, c.Token, c.Handle, c.Seq, plan.Monotonic())
	result := resultText(w.do(c, h, r))
	w.note("R %d %d %s\n", c.Seq, plan.Monotonic(), result)
	return result
}

func (w *worker) do(c call, h *writeHandle, r plan.Record) (err error) {
	n := plan.RecordSize
	switch c.Kind {
	case callAppend:
		n, err = unix.Write(h.log, r.Encode())
	case callSlot:
		n, err = unix.Pwrite(h.slots, r.Encode(), int64(slotOf(c.Seq)*plan.RecordSize))
	case callCreate:
		var fd int
		fd, err = unix.Open(filepath.Join(w.Mountpoint, "made", fileName(r)), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
		if err == nil {
			_ = unix.Close(fd)
		}
	}
	if err == nil && n != plan.RecordSize {
		return errors.New("short")
	}
	return err
}

func fileName(r plan.Record) string {
	return fmt.Sprintf("%d-%d-%d-%d-%d", r.Token, r.Host, r.PID, r.Handle, r.Seq)
}

func parseFileName(name string) (plan.Record, error) {
	r := plan.Record{Kind: plan.KindData}
	_, err := fmt.Sscanf(name, "%d-%d-%d-%d-%d", &r.Token, &r.Host, &r.PID, &r.Handle, &r.Seq)
	return r, err
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
