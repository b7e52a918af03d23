package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// pairing is a second mount on the same host.
type pairing struct {
	name    string
	source  string
	control string // "": as the source has it
	bind    bool   // the source is reached by a bind mount of it
	of      *place // a worktree alone
	file    string // where it is illegal: what an intruder writes to, below the mount point; "": it makes files
	illegal bool   // other records than the first mount has of the same files: to be refused
}

// pairings are all pairs of a host's mount and a second one.
func (h *host) pairings() []pairing {
	other := h.at("meta", fmt.Sprintf("other-locks-%d", h.Number))
	if !h.Repo {
		return []pairing{
			{name: "the same directory", source: h.at("backing"), control: h.locks()},
			{name: "the same directory, by a bind", source: h.at("backing"), control: h.locks(), bind: true},
			{name: "the same directory, other records", source: h.at("backing"), control: other, file: "log", illegal: true},
			{name: "a bind of it, other records", source: h.at("backing"), control: other, bind: true, file: "log", illegal: true},
			{name: "a directory in it", source: h.at("backing", "made"), control: other, illegal: true},
		}
	}
	all := h.places()
	return []pairing{
		{name: "the same repository", source: h.at("backing")},
		{name: "the same repository, by a bind", source: h.at("backing"), bind: true},
		{name: "its main", source: h.backing(all[0]), of: &all[0]},
		{name: "its worktree", source: h.backing(all[1]), of: &all[1]},
		{name: "its main as a directory", source: h.backing(all[0]), control: other, file: "log", illegal: true},
		{name: "a directory in its worktree", source: h.backing(all[1], "made"), control: other, illegal: true},
	}
}

// secondHost is how a host is numbered where its second mount is meant: what lands through it has its own rules.
const secondHost = 10

// secondMount mounts the source once more for a while, with a writer of its own, or, where the two must not be, with an intruder.
// Needs mu.
func (h *host) secondMount() {
	if h.daemon == 0 || h.pairing || !h.does(opMounts) {
		return
	}
	all := h.pairings()
	p := all[h.rng.IntN(len(all))]
	args := []string{"mount", "--foreground", p.source, h.secondPoint()}
	if p.bind {
		args[2] = h.secondPoint() + ".bind"
	}
	if p.control != "" {
		args = append(args, "--control", p.control)
	}
	if err := h.prepare(p); err != nil {
		panic(err)
	}
	h.pairing = true
	h.second = h.launchAs(h.plan(secondHost+h.Number, p.illegal), append(args, h.leaseArgs(secondHost+h.Number)...)...)
	go h.useSecond(p, h.second, h.span(h.LeaseMS+h.rng.IntN(4*h.LeaseMS)), h.rng.IntN(2) == 0)
}

func (h *host) secondPoint() string { return h.mountpoint() + "-2" }

// prepare makes the places of a second mount; they may be there.
func (h *host) prepare(p pairing) error {
	bind := h.secondPoint() + ".bind"
	for _, dir := range []string{h.secondPoint(), bind, p.control} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if !p.bind {
		return nil
	}
	return unix.Mount(p.source, bind, "", unix.MS_BIND, "")
}

// useSecond lets somebody work there when it serves, and ends it.
func (h *host) useSecond(p pairing, pid int, d time.Duration, kill bool) {
	if h.awaitSecond(pid) {
		h.note("mounts", "serves", 0)
		h.workThere(p, d)
	} else {
		h.note("mounts", map[bool]string{true: "refused", false: "failed"}[p.illegal], 0)
	}
	_ = unix.Kill(pid, map[bool]unix.Signal{true: unix.SIGKILL, false: unix.SIGTERM}[kill])
	for end := time.Now().Add(10 * time.Second); h.secondPID() == pid; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) { // it waits for somebody who has a file open there
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	for unix.Unmount(h.secondPoint(), unix.MNT_DETACH) == nil {
	}
	if p.bind {
		_ = unix.Unmount(h.secondPoint()+".bind", unix.MNT_DETACH)
	}
	h.mu.Lock()
	h.pairing = false
	h.mu.Unlock()
}

// secondPID is 0 when the daemon of the second mount has ended.
func (h *host) secondPID() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.second
}

// awaitSecond waits until the second mount serves; false if its daemon ended, or took too long.
func (h *host) awaitSecond(pid int) bool {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && h.secondPID() == pid; time.Sleep(10 * time.Millisecond) {
		if (control{mountpoint: h.secondPoint()}).pid() == pid {
			return true
		}
	}
	return false
}

// workThere starts the writer or the intruder, and ends it.
func (h *host) workThere(p pairing, d time.Duration) {
	h.mu.Lock()
	role, config, at := "worker", any(h.secondWriter(p)), writer{once: true}
	if p.illegal {
		role, config = "intruder", intruder{Mountpoint: h.secondPoint(), File: p.file, Host: secondHost + h.Number}
	}
	if h.ending {
		h.mu.Unlock()
		return
	}
	pid := h.startProcess(role, config, at)
	h.mu.Unlock()
	h.restUnlessQuiet(d)
	h.mu.Lock()
	if w, ok := h.writers[pid]; ok {
		_ = w.in.Close()
	}
	h.mu.Unlock()
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		h.mu.Lock()
		_, there := h.writers[pid]
		h.mu.Unlock()
		if !there {
			return
		}
	}
}

func (h *host) secondWriter(p pairing) workerConfig {
	all := h.places()
	of := all[h.rng.IntN(len(all))]
	if p.of != nil {
		of, all = place{ID: p.of.ID}, nil
	}
	cfg := h.writerConfig(of)
	cfg.Places, cfg.Mountpoint, cfg.Host = all, h.secondPoint(), secondHost+h.Number
	return cfg
}

// foreignBase is added to the tokens of an intruder: they are of other records.
const foreignBase = 1 << 50

// intruder writes through a mount that has other records than the first of the same files, as a holder by those.
type intruder struct {
	Mountpoint, File string
	Host             int
}

func (i intruder) run() error {
	a, err := control{mountpoint: i.Mountpoint}.ask(map[string]any{"op": "acquire"})
	if err != nil {
		return nil //nolint:nilerr // it is refused, which is as it should be
	}
	for seq := range 100 {
		r := plan.Record{Kind: plan.KindData, Token: foreignBase + a.Token, Host: i.Host, PID: os.Getpid(), Handle: 1, Seq: seq}
		if !i.writes(r) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	_, _ = control{mountpoint: i.Mountpoint}.ask(map[string]any{"op": "release"})
	return nil
}

func (i intruder) writes(r plan.Record) bool {
	c := operation.Command{Op: "writefile", Path: i.File, Flags: unix.O_APPEND, Data: r.Encode()}
	if i.File == "" {
		c = operation.Command{Op: "writefile", Path: r.Name(), Flags: unix.O_CREAT | unix.O_TRUNC, Mode: 0o600}
	}
	return operation.NewBox(i.Mountpoint).Perform(c).Errno == ""
}
