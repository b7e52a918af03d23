package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// leftoverAge is how old a temporary record must be to be called a leftover; one
// being born lives for milliseconds.
const leftoverAge = time.Minute

// lockDir is a lock directory to check.
type lockDir struct {
	path string
	name string // for people
}

// shown is a file of the directory as people find it.
func (d lockDir) shown(file string) string { return filepath.Join(d.name, filepath.Base(file)) }

func checkLockDirs(ctx context.Context, dirs []lockDir, policy lease.Policy, fix repair) []finding {
	var out []finding
	seen := map[string]bool{}
	for _, d := range dirs {
		if !seen[d.path] {
			seen[d.path] = true
			out = append(out, checkLockDir(ctx, d, policy, fix)...)
		}
	}
	return out
}

func checkLockDir(ctx context.Context, d lockDir, policy lease.Policy, fix repair) []finding {
	info, err := os.Lstat(d.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []finding{okf("locks.none", "%s does not exist yet: nobody has held a lease there", d.name)}
	case errors.Is(err, os.ErrPermission):
		return []finding{warn("locks.denied", "run doctor as root", "%v", err)}
	case err != nil:
		return []finding{fail("locks.unreadable", "look at the disk and the permissions of the lock directory", "%v", err)}
	case !info.IsDir():
		return []finding{fail("locks.kind", "move it away", "%s is not a directory", d.name)}
	}
	out := append([]finding{checkLockMode(d, info)}, checkExposure(d)...)
	if f, err := tierOf(d); err != nil {
		out = append(out, warn("tier.unknown", "look at the disk and the permissions of the lock directory", "%v", err))
	} else {
		out = append(out, f)
	}
	out = append(out, probeFindings(d.name, probeDir(d.path, probeSteps), policy.MaxClockSkew)...)
	out = append(out, checkSpace(d)...)
	if fix.safe {
		out = append(out, mendProbes(d)...)
		out = append(out, mendRecords(ctx, d, policy, fix.force)...)
	}
	out = append(out, checkLeftovers(d)...)
	out = append(out, checkTaints(d)...)
	return append(out, checkRecords(d, policy)...)
}

func checkLockMode(d lockDir, info os.FileInfo) finding {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fail("locks.mode", "chmod 700 "+d.name, "%s has mode %04o: the nonces in it are secrets", d.name, mode)
	}
	return okf("locks.mode", "%s is private", d.name)
}

func checkLeftovers(d lockDir) []finding {
	names, err := namesIn(d.path, func(name string) bool { return lease.IsLeftover(name) || isProbe(name) })
	if err != nil {
		return []finding{warn("leftovers.scan", "run doctor as root", "%v", err)}
	}
	var out []finding
	for _, name := range names {
		info, err := os.Lstat(name)
		if err == nil && time.Since(info.ModTime()) > leftoverAge {
			out = append(out, warn("leftovers.stale", "jvsfs doctor --repair PATH", "%s is left of a command that was interrupted; it is harmless", d.shown(name)))
		}
	}
	return out
}

// namesIn are the paths in a directory whose names are of a kind. No pattern says that: an id may hold anything that a pattern looks for.
func namesIn(dir string, of func(string) bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if of(e.Name()) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

func checkRecords(d lockDir, policy lease.Policy) []finding {
	dir, err := lease.OpenDir(d.path)
	if err != nil {
		return []finding{fail("records.failed", "look at the disk and the permissions of the lock directory", "%v", err)}
	}
	defer dir.Close() //nolint:errcheck // only read from
	ids, err := dir.Worktrees()
	if err != nil {
		return []finding{fail("records.failed", "look at the disk and the permissions of the lock directory", "%v", err)}
	}
	out := make([]finding, 0, len(ids))
	for _, id := range ids {
		out = append(out, checkRecord(dir, id, policy))
	}
	return out
}

func checkRecord(dir *lease.Dir, id lease.WorktreeID, policy lease.Policy) finding {
	now := lease.SystemClock().Wall()
	head, err := dir.Store(id).Head()
	if err != nil {
		return fail("records.failed", "look at the disk and the permissions of the lock directory", "worktree %s: %v", id, err)
	}
	j := lease.Judge(now, head, policy)
	switch j.State {
	case lease.Unreadable:
		return fail("records.unreadable", "make sure that no writer is left, then: jvsfs doctor --repair PATH", "worktree %s: %s", id, j.Reason)
	case lease.Skewed:
		return fail("records.skewed", "set the clocks of the hosts; if the record is wrong: jvsfs doctor --repair --force PATH",
			"worktree %s: %s: %s", id, head.File, j.Reason)
	case lease.Stealable:
		return warn("records.unreleased", "jvsfs lock acquire or steal takes it over", "worktree %s: %s, and it was not released; holder %s", id, j.Reason, printable(head.Record.HolderID))
	case lease.Free:
		return okf("records.free", "worktree %s: free, token %d", id, head.Token)
	}
	return okf("records.held", "worktree %s: %s by %s, token %d", id, j.State, printable(head.Record.HolderID), head.Token)
}

// mendPatience bounds the wait for the gates of all worktrees together: a daemon that is
// asked to mend must answer within answerTimeout, whoever keeps gates. What is not got in
// that time is tried once.
const mendPatience = answerTimeout / 2

// mendRecords repairs what is provably safe, all that it knows with force.
func mendRecords(ctx context.Context, d lockDir, policy lease.Policy, force bool) []finding {
	dir, err := lease.OpenDir(d.path)
	if err != nil {
		return []finding{fail("repair.failed", "look at the disk and the permissions of the lock directory", "%v", err)}
	}
	defer dir.Close() //nolint:errcheck // each change was made durable
	ids, err := dir.Worktrees()
	if err != nil {
		return []finding{fail("repair.failed", "look at the disk and the permissions of the lock directory", "%v", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, mendPatience)
	defer cancel()
	var out []finding
	for _, id := range ids {
		mended, err := dir.Store(id).Mend(ctx, lease.SystemClock(), policy, force)
		for _, m := range mended {
			out = append(out, findingOf(id, m))
		}
		if err != nil && lease.ClassOf(err) != lease.ClassLockConflict { // a worktree that is held needs no mending
			out = append(out, fail("repair.failed", "look at the disk and the permissions of the lock directory", "worktree %s: %v", id, err))
		}
	}
	return out
}

// checkRepair is the check of what --repair has done.
const checkRepair = "repair"

func findingOf(id lease.WorktreeID, m lease.Mending) finding {
	if m.Done == "" {
		return fail("repair.notmended", "make sure that nobody writes, then: jvsfs doctor --repair --force PATH",
			"worktree %s: %s: %s: not mended: %s", id, m.File, m.Problem, m.Why)
	}
	kept := ""
	if m.Kept != "" {
		kept = "; the old file is " + m.Kept
	}
	return okf("repair.done", "worktree %s: %s: %s: %s%s", id, m.File, m.Problem, m.Done, kept)
}

// checkTaints lists late writes that nobody has looked at yet.
func checkTaints(d lockDir) []finding {
	names, err := namesIn(d.path, lease.IsTaint)
	if err != nil {
		return []finding{warn("taint.scan", "run doctor as root", "%v", err)}
	}
	var out []finding
	for _, name := range names {
		text, _ := os.ReadFile(name) // for people; a file that cannot be read is named all the same
		out = append(out, fail("taint.late", "compare the file with what its holder meant, then remove "+d.shown(name),
			"%s: a write took effect after its lease was over: %s", d.shown(name), shorten(printable(strings.TrimSpace(string(text))), 200)))
	}
	return out
}

// repair is what doctor may change.
type repair struct{ safe, force bool }
