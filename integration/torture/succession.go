package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// successions are the daemons of a host beside the one that serves. Guarded by the host's mu.
type successions struct {
	newcomer   int   // is to take the place of the one that serves
	former     []int // serve what was open when they were replaced
	recovering int   // jvsfs recover
}

// crash is a sudden end of the daemon, wherever it is. Needs mu.
func (h *host) crash() {
	if h.daemon != 0 && h.does(opRecover) && h.rng.IntN(4) == 0 {
		h.note("process", "kill", 0)
		_ = unix.Kill(h.daemon, unix.SIGKILL)
	}
}

// recover recovers the mount. Needs mu.
func (h *host) recover() {
	h.unseal()
	h.recovering = h.launch("recover", h.mountpoint())
	pid := h.recovering
	go h.attend(pid)
}

// attend resumes a daemon that stopped itself before recover has seen it serve: recover is its parent and is told, and
// not this host. It ends a recovery that does not end.
func (h *host) attend(recovering int) {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(h.span(h.LeaseMS)) {
		h.mu.Lock()
		over := h.recovering != recovering
		h.mu.Unlock()
		if over {
			return
		}
		for _, child := range childrenOf(recovering) {
			_ = unix.Kill(child, unix.SIGCONT)
		}
		if time.Now().After(end) {
			_ = unix.Kill(recovering, unix.SIGKILL)
		}
	}
}

// replace starts a daemon that takes the place of the one that serves. Needs mu.
func (h *host) replace() {
	if h.daemon == 0 || h.under || len(h.former) > 0 || h.newcomer != 0 || !h.does(opReplace) || h.servingPID() != h.daemon {
		return
	}
	h.newcomer = h.launch(append(h.mountArgs(), "--replace")...)
	go h.awaitNewcomer(h.newcomer)
}

// awaitNewcomer waits until the newcomer serves. One that needs too long is killed.
func (h *host) awaitNewcomer(pid int) {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		h.mu.Lock()
		over := h.newcomer != pid || h.tookOver()
		h.mu.Unlock()
		if over {
			return
		}
		if time.Now().After(end) {
			_ = unix.Kill(pid, unix.SIGKILL) // reap sees its end
			return
		}
	}
}

// tookOver looks whether the newcomer serves now. Needs mu.
func (h *host) tookOver() bool {
	if h.newcomer == 0 || h.servingPID() != h.newcomer {
		return false
	}
	h.note("replace", "done", 0)
	if h.daemon != 0 {
		h.former = append(h.former, h.daemon)
		go h.cutOff(h.daemon, h.span(h.rng.IntN(3*h.LeaseMS)))
	}
	h.daemon, h.newcomer = h.newcomer, 0
	return true
}

// cutOff ends a daemon that was replaced: as long as files are open there nobody can replace the next one.
func (h *host) cutOff(former int, after time.Duration) {
	h.restUnlessQuiet(after)
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.former, former) {
		_ = unix.Kill(former, unix.SIGTERM)
	}
}

// succeeded is the end of a daemon, or of what recovers one; false if it was neither. Needs mu.
func (h *host) succeeded(pid int, ws unix.WaitStatus) bool {
	switch {
	case pid == h.recovering:
		h.recovering = 0
		if now := h.servingPID(); ws.Exited() && ws.ExitStatus() == 0 && now != 0 && unix.Kill(now, 0) == nil {
			h.note("recover", "done", 0)
			h.daemon = now
			go h.resumeLater(now, h.pause()) // one that had stopped itself by then was another's child: nobody is told
			break
		}
		h.note("recover", "failed", 0)
		go h.restart()
	case pid == h.newcomer:
		if !h.tookOver() { // it may have, and died at once
			h.newcomer = 0
			h.note("replace", "failed", 0)
			break
		}
		h.daemon = 0
		go h.restart()
	case pid == h.daemon:
		h.daemon = 0
		if h.newcomer == 0 {
			go h.restart()
		} else if !h.tookOver() { // it may go on alone, or give up
			go h.restartAfter(h.newcomer)
		}
	case slices.Contains(h.former, pid):
		h.former = slices.DeleteFunc(h.former, func(one int) bool { return one == pid })
	default:
		return false
	}
	return true
}

func (h *host) restartAfter(newcomer int) {
	for over := false; !over; time.Sleep(5 * time.Millisecond) {
		h.mu.Lock()
		over = h.newcomer != newcomer
		h.mu.Unlock()
	}
	h.restart()
}

// servingPID is the daemon of the mount, as it says itself; 0 if that is not to be known.
func (h *host) servingPID() int { return control{mountpoint: h.mountpoint()}.pid() }

// childrenOf are those that any of its threads has started.
func childrenOf(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(text)) {
			all = append(all, number(child))
		}
	}
	return all
}
