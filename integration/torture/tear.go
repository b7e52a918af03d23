package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// repairedMark ends the name of a file that says which claim was repaired by hand.
const repairedMark = ".repaired"

// tearRecord damages the record of a head claim as a crash of the machine might, and repairs it later as an admin does, once
// nobody can be writing: with the gate's exclusive lock. A living holder repairs it itself, by renewing. Only where the gate
// means something.
func (h *host) tearRecord() {
	all := h.places()
	names, err := filepath.Glob(h.claims(all[h.rng.IntN(len(all))]))
	if err != nil || len(names) == 0 || h.Tier == "c" || h.Broken {
		return
	}
	name := slices.Max(names)
	f, err := h.damage(name)
	if err != nil {
		return
	}
	whole := make([]byte, 4096)
	if n, err := f.ReadAt(whole, 0); err != nil || n != len(whole) || bytes.IndexByte(whole, 0) >= 0 {
		h.healed(f)
		return
	}
	torn := make([]byte, []int{512, 1024, 2048}[h.rng.IntN(3)])
	if _, err := f.WriteAt(torn, int64(h.rng.IntN(2)*256)); err != nil {
		panic(err)
	}
	h.note("record", "tear", 0)
	go h.repair(f, whole, name, func(now []byte) bool { return bytes.IndexByte(now, 0) >= 0 })
}

// repair puts a record right that is still damaged when the gate is free.
func (h *host) repair(f *os.File, whole []byte, claim string, damaged func([]byte) bool) {
	defer h.healed(f)
	worktree, _, _ := bytes.Cut([]byte(filepath.Base(claim)), []byte(".claim."))
	gate, err := os.OpenFile(filepath.Join(h.locks(), string(worktree)+".gate"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer gate.Close() //nolint:errcheck // drops the lock
	for {
		time.Sleep(h.span(h.LeaseMS / 3))
		now := make([]byte, len(whole))
		if _, err := f.ReadAt(now, 0); err != nil || !damaged(now) {
			h.note("record", "mended_by_its_holder", 0)
			return
		}
		if unix.Flock(int(gate.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			continue
		}
		if _, err := f.ReadAt(now, 0); err == nil && damaged(now) {
			_, _ = f.WriteAt(whole, 0) // the mark below says that it was tried
			h.note("record", "mended_by_an_admin", 0)
			// It may have been released between our look and our blow: then this is not how its holder left it.
			_ = os.WriteFile(h.at("meta", filepath.Base(claim)+repairedMark), nil, 0o600)
		}
		return
	}
}

// damage opens a record that is to be damaged; an error while somebody else does so, for who repairs it must know how it was.
func (h *host) damage(name string) (*os.File, error) {
	if err := os.Mkdir(h.damageMark(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		_ = os.Remove(h.damageMark(name))
	}
	return f, err
}

func (h *host) damageMark(claim string) string { return h.at("meta", filepath.Base(claim)+".damaged") }

// healed is the end of it.
func (h *host) healed(f *os.File) {
	_ = os.Remove(h.damageMark(f.Name()))
	_ = f.Close() // nothing is buffered
}
