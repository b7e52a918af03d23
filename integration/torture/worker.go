package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// workerConfig is a writer process.
type workerConfig struct {
	Seed       uint64
	Host       int
	Mountpoint string
	Place      place
	Places     []place // all of them
	History    string  // directory for the history
	OnPurpose  bool    // take leases on purpose only; else writes may take them, too
	LeaseMS    int
	Patient    bool // holds its leases for long, so that they are renewed often
	Hosts      int  // how many there are
	Theme      theme
	Without    repertoire
}

// worker writes under leases that it takes. It continues to write when it has lost them, as a process does that
// does not know of the loss.
type worker struct {
	workerConfig
	rng     *rand.Rand
	control control
	history *os.File
	seq     int
	handles int
	over    atomic.Bool // the end of the history has come
	old     []*writeHandle
	made    []string     // files in made that are there, as far as this writer knows
	lengths int          // how many of them, from the front, have had their length changed
	busy    atomic.Int64 // when the write that is under way began, 0: none is
}

func runWorker(cfg workerConfig) error {
	w := &worker{workerConfig: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 7)), control: control{cfg.Mountpoint, cfg.Place.Rel}}
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
			w.rest(200) // there are others who ask
			continue
		}
		w.use(h)
		w.retire(h)
	}
	return nil
}

func (w *worker) path(names ...string) string {
	return filepath.Join(append([]string{w.Mountpoint, w.Place.Rel}, names...)...)
}

// rest sleeps for up to so many milliseconds.
func (w *worker) rest(ms int) { time.Sleep(time.Duration(w.rng.IntN(ms*1000)) * time.Microsecond) }

// take gets a lease and a handle of it; nil if the lease is not free now.
func (w *worker) take() *writeHandle {
	if w.Without.has(opHandover) && (w.rng.IntN(3) == 0 || w.Theme == passing && w.rng.IntN(3) == 0) {
		if h := w.beGiven(); h != nil {
			return h
		}
	}
	if w.rng.IntN(4) == 0 { // a lease that was kept over a recovery, or a replacement
		if t := w.held(); t != 0 {
			return w.openUnder(t)
		}
	}
	if w.OnPurpose || w.rng.IntN(3) == 0 {
		a, err := w.control.ask(w.wish())
		if err != nil {
			return nil
		}
		if w.OnPurpose {
			return w.openUnder(a.Token)
		}
	}
	// A write may take the lease.
	if h := w.open(0); h != nil {
		h.Drop()
	}
	return w.openUnder(w.held())
}

// held is the token that this writer holds, 0 if it holds none that can be seen.
func (w *worker) held() uint64 { return w.control.held() }

// openUnder opens a handle under a token that is held now. The records before and after the open show whether
// it was; otherwise the handle is of another token, or of none.
func (w *worker) openUnder(token uint64) *writeHandle {
	if token == 0 {
		return nil
	}
	h := w.open(token)
	if h != nil && w.held() != token {
		h.Drop()
		return nil
	}
	return h
}

// wish is a way to ask for the lease.
func (w *worker) wish() map[string]any {
	if w.rng.IntN(4) == 0 {
		return map[string]any{"op": "steal"}
	}
	request := map[string]any{"op": "acquire", "steal": w.rng.IntN(2) == 0}
	if w.rng.IntN(8) == 0 {
		request["wait_ms"] = w.LeaseMS * 2
	}
	return request
}

// retire keeps a few handles of old leases: they must stay dead. One with a mapping rarely: it bars the mappings of all others.
func (w *worker) retire(h *writeHandle) {
	if h.mapped && w.rng.IntN(4) > 0 {
		h.Drop()
		return
	}
	w.old = append(w.old, h)
	if len(w.old) > 3 {
		w.old[0].Drop()
		w.old = w.old[1:]
	}
}

// use writes for a while, and gives the lease back, or not, or from beside while a write is on its way.
func (w *worker) use(h *writeHandle) {
	lease := time.Duration(w.LeaseMS) * time.Millisecond
	end := time.Now().Add(time.Duration(w.rng.Int64N(int64(lease/5))) + lease/50)
	limit := 1 + w.rng.IntN(15) // refusals
	how := w.rng.IntN(9)
	switch w.Theme {
	case kills: // releases and renewals must be there to be killed in
		how = 1 + w.rng.IntN(4)
	case passing:
		how = 4 + w.rng.IntN(5)
	}
	if w.patient() {
		end, limit = end.Add(time.Duration(w.rng.Int64N(int64(3*lease)))), 150 // does not give up either
	}
	stop := w.beside(h, end, how == 0 || how > 5, w.parting())
	w.writeUntil(h, end, limit)
	stop()
	if how > 0 && how < 5 {
		w.release(h)
		w.write(h, w.OnPurpose)
		w.rest(50) // others, too
	}
}

// patient is whether it holds the lease for long, this time.
func (w *worker) patient() bool {
	if w.Theme == kills {
		return w.rng.IntN(4) == 0
	}
	return w.Patient || w.rng.IntN(5) == 0
}

func (w *worker) writeUntil(h *writeHandle, end time.Time, limit int) {
	failures := 0
	for failures < limit && (time.Now().Before(end) || failures > 0) && !w.over.Load() {
		switch w.write(h, w.OnPurpose) {
		case resultOK:
			failures = 0
		case "ENOTCONN": // its daemon is dead, and the handle is for good
			return
		default:
			failures++
			w.rest(10)
		}
		if len(w.old) > 0 && w.rng.IntN(50) == 0 {
			w.write(w.old[w.rng.IntN(len(w.old))], false)
		}
		if w.rng.IntN(3) == 0 {
			w.rest(4)
		}
	}
}

// beside gives the lease back, or to another writer, while writes are in flight: at some time, or when a write
// takes so long that it must be held somewhere. Then the lease ends over a write that is past its check.
func (w *worker) beside(h *writeHandle, end time.Time, atSomeTime bool, part func(*writeHandle)) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	impatient := w.rng.IntN(2) == 0
	middle := time.Now().Add(time.Until(end) / 2)
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			began := w.busy.Load()
			if atSomeTime && time.Now().After(middle) || impatient && began != 0 && time.Now().UnixNano()-began > int64(40*time.Millisecond) {
				part(h)
				return
			}
		}
	}()
	return func() { close(over); <-ended }
}

func (w *worker) release(h *writeHandle) {
	_, _ = w.control.ask(map[string]any{"op": "release", "fencing_token": h.token}) // lost already, or taken back: all the same
}
