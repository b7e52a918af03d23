package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// modes are what a host knows of the mode of its mount. Guarded by the host's mu.
type modes struct {
	logs   []*os.File // where the writes of each worktree land
	under  bool       // a switch is under way, or to be undone
	sealed bool       // it was marked that the mount lets nothing through
}

// openLogs opens where a host marks its switches. They are opened before anything is mounted.
func (h *host) openLogs() error {
	for _, p := range h.places() {
		f, err := os.OpenFile(h.backing(p, "log"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		h.logs = append(h.logs, f)
	}
	if h.Roams {
		h.logs = append(h.logs, os.NewFile(roamFD, "roaming log"))
	}
	return nil
}

// mark writes a switch of the mode between what lands.
func (h *host) mark(kind byte) {
	r := plan.Record{Kind: kind, Host: h.Number, Wall: plan.Realtime()}
	var errs []error
	for _, log := range h.logs {
		_, err := log.Write(r.Encode())
		errs = append(errs, err)
	}
	for _, p := range h.places() {
		errs = append(errs, os.WriteFile(filepath.Join(h.marks(p), r.Name()), nil, 0o600))
	}
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
}

// switchMode makes the mount observe or read-only for a while. Needs mu. A daemon that takes another's place has a mode of its own, so
// never both.
func (h *host) switchMode() {
	if h.daemon == 0 || h.under || len(h.former) > 0 || h.newcomer != 0 || !h.does(opSwitch) {
		return
	}
	h.under = true
	d := h.span(20 + h.rng.IntN(h.LeaseMS*2))
	if h.rng.IntN(2) == 0 {
		go h.seal(d)
		return
	}
	go h.loosen(d)
}

func (h *host) enforce(mode string) error {
	_, err := control{mountpoint: h.mountpoint()}.ask(map[string]any{"op": "enforce", "mode": mode, "wait_ms": 2000})
	return err
}

// loosen lets the mount observe. The mark comes before; whatever lands until the mark that it enforces again may.
func (h *host) loosen(d time.Duration) {
	h.mark(plan.KindLoose)
	var refused refusal
	switch err := h.enforce("observe"); {
	case err == nil:
		h.note("mode", "observe", d)
	case !errors.As(err, &refused):
		h.forget()
	}
	h.restUnlessQuiet(d)
	h.tighten(func() { h.mark(plan.KindStrict) })
}

// forget ends a daemon that has not answered: it may carry the request out yet, even after one that came later.
func (h *host) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.daemon != 0 {
		h.note("process", "kill", 0)
		_ = unix.Kill(h.daemon, unix.SIGKILL)
	}
}

// seal makes the mount read-only. Once that is answered nothing is in flight, and nothing lands until the mark before it is undone.
func (h *host) seal(d time.Duration) {
	h.mu.Lock()
	life := h.lives
	h.mu.Unlock()
	var refused refusal
	err := h.enforce("readonly")
	sealed := err == nil
	if err != nil && !errors.As(err, &refused) {
		h.forget()
	}
	h.mu.Lock()
	if sealed && life == h.lives { // else it was perhaps another daemon
		h.note("mode", "readonly", d)
		h.mark(plan.KindSealed)
		h.sealed = true
	}
	h.mu.Unlock()
	h.restUnlessQuiet(d)
	h.mu.Lock()
	h.unseal()
	h.mu.Unlock()
	h.tighten(func() {})
}

// unseal comes before anything that ends a readonly mode. Needs mu.
func (h *host) unseal() {
	if h.sealed {
		h.mark(plan.KindUnsealed)
		h.sealed = false
	}
}

// tighten tries until a daemon has answered that it enforces: this one, or one that was started since.
func (h *host) tighten(done func()) {
	for h.enforce("enforce") != nil {
		h.mu.Lock()
		ending := h.ending
		h.mu.Unlock()
		if ending {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	done()
	h.mu.Lock()
	h.under = false
	h.mu.Unlock()
}

func (h *host) restUnlessQuiet(d time.Duration) {
	select {
	case <-time.After(d):
	case <-h.calmed:
	}
}
