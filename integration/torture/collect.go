package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// collect reads everything that was left.
func (h *history) collect() error {
	errs := []error{h.collectCalls(), h.collectAudit(), h.collectEvents(), h.collectDaemonLogs(), h.collectTaints(), h.collectStrangers()}
	if h.Roams {
		errs = append(errs, h.collectRoamer())
	}
	for _, t := range h.trees {
		t.Replaced = h.replacements()
		if h.tier == "c" {
			t.Late = h.span(h.SkewMS + h.GraceMS + h.RenewMS)
		}
		errs = append(errs, t.collectLog(h.backing(t.place, "log")), t.collectFiles(h.backing(t.place, "made")), t.collectClaims(h.claims(t.place), h.at("meta")), h.collectRaised(t))
	}
	return errors.Join(errs...)
}

// replacements are the moments by which a host had seen its daemon replaced.
func (h *history) replacements() (all []span) {
	for _, e := range h.events {
		if e.where == "replace" && e.what == "done" {
			all = append(all, span{Host: e.host, Begin: e.begin})
		}
	}
	return all
}

// treeOf finds a worktree by its id; a plain directory is the only one.
func (h *history) treeOf(id string) *tree {
	if len(h.trees) == 1 {
		return h.trees[0]
	}
	if i := slices.IndexFunc(h.trees, func(t *tree) bool { return t.ID == id }); i >= 0 {
		return h.trees[i]
	}
	return nil
}

func (t *tree) collectLog(name string) (err error) {
	if t.Log, err = readLog(name); err != nil {
		return err
	}
	for _, r := range t.Log {
		t.observedBy(r)
	}
	return nil
}

// collectRoamer finds the log of the roaming worktree through the descriptor: its name may be any of the two.
func (h *history) collectRoamer() (err error) {
	h.roamed, err = readLog(fmt.Sprintf("/proc/self/fd/%d", h.roamer.Fd()))
	return err
}

func readLog(name string) (all []plan.Record, err error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for ; len(b) >= plan.RecordSize; b = b[plan.RecordSize:] {
		r, err := plan.Parse(b[:plan.RecordSize])
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("the log ends with half a record: %q", b)
	}
	return all, nil
}

func (t *tree) collectFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		r, err := plan.ParseName(e.Name())
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		var st unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, filepath.Join(dir, e.Name()), 0, unix.STATX_BTIME|unix.STATX_SIZE, &st); err != nil {
			return err
		}
		f := file{Record: r, Size: int64(st.Size)}
		if st.Mask&unix.STATX_BTIME != 0 {
			f.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
		}
		t.Files = append(t.Files, f)
	}
	return err
}

// collectClaims reads the claims. One that was repaired by hand says nothing of how its holder left it.
func (t *tree) collectClaims(pattern, meta string) error {
	names, err := filepath.Glob(pattern)
	t.Left = map[uint64]bool{}
	for _, name := range names {
		token, err := strconv.ParseUint(name[strings.LastIndexByte(name, '.')+1:], 10, 64)
		if err != nil {
			return err
		}
		t.Claims = append(t.Claims, token)
		_, err = os.Stat(filepath.Join(meta, filepath.Base(name)+repairedMark))
		if r, rerr := readClaim(name); rerr == nil && !r.Released && err != nil {
			t.Left[token] = true
		}
	}
	return err
}

// collectRaised looks how far other records of the same files went.
func (h *history) collectRaised(t *tree) error {
	names, err := filepath.Glob(h.at("meta", "other-locks-*", "*.claim.*"))
	for _, name := range names {
		id, number, _ := strings.Cut(filepath.Base(name), ".claim.")
		token, perr := strconv.ParseUint(number, 10, 64)
		if perr == nil && (id == t.ID || len(h.trees) == 1) && token < foreignBase {
			t.Raised = max(t.Raised, token)
		}
	}
	return err
}

func (h *history) collectTaints() error {
	taints, err := filepath.Glob(filepath.Join(h.locks(), "*.taint.*"))
	h.late = len(taints)
	return err
}

// collectDaemonLogs looks for what a daemon says only when it is broken.
func (h *history) collectDaemonLogs() error {
	names, err := filepath.Glob(h.at("meta", "*.log"))
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, sign := range []string{"DATA RACE", "panic", "fatal error:"} {
			if i := strings.Index(string(b), sign); i >= 0 {
				h.log = append(h.log, fmt.Sprintf("%s: %.300q", filepath.Base(name), b[i:]))
			}
		}
	}
	return nil
}

// observedBy keeps the times in which mounts observed. Marks are stamped with the wall clock.
func (e *evidence) observedBy(r plan.Record) {
	at := r.Wall - plan.Realtime() + plan.Monotonic()
	switch r.Kind {
	case plan.KindLoose:
		e.Loose = append(e.Loose, span{Host: r.Host, Begin: at})
	case plan.KindStrict:
		for i := range e.Loose {
			if e.Loose[i].Host == r.Host && e.Loose[i].End == 0 {
				e.Loose[i].End = at
			}
		}
	}
}
