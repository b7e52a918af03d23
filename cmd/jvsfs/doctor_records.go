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
		return []finding{okf("locks", "%s does not exist yet: nobody has held a lease there", d.name)}
	case errors.Is(err, os.ErrPermission):
		return []finding{warn("locks", "run doctor as root", "%v", err)}
	case err != nil:
		return []finding{fail("locks", "", "%v", err)}
	case !info.IsDir():
		return []finding{fail("locks", "move it away", "%s is not a directory", d.name)}
	}
	out := []finding{checkLockMode(d, info)}
	if f, err := tierOf(d.path); err != nil {
		out = append(out, warn("tier", "", "%v", err))
	} else {
		out = append(out, f)
	}
	if fix.safe {
		out = append(out, mendRecords(ctx, d, policy, fix.force)...)
	}
	out = append(out, checkLeftovers(d)...)
	out = append(out, checkTaints(d)...)
	return append(out, checkRecords(d, policy)...)
}

func checkLockMode(d lockDir, info os.FileInfo) finding {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fail("locks", "chmod 700 "+d.name, "%s has mode %04o: the nonces in it are secrets", d.name, mode)
	}
	return okf("locks", "%s is private", d.name)
}

func checkLeftovers(d lockDir) []finding {
	names, err := filepath.Glob(filepath.Join(escapeGlob(d.path), "*.lock.tmp*"))
	if err != nil {
		return []finding{warn("leftovers", "", "%v", err)}
	}
	var out []finding
	for _, name := range names {
		info, err := os.Lstat(name)
		if err == nil && time.Since(info.ModTime()) > leftoverAge {
			out = append(out, warn("leftovers", "jvsfs doctor --repair PATH", "%s is left of a command that was interrupted; it is harmless", name))
		}
	}
	return out
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func checkRecords(d lockDir, policy lease.Policy) []finding {
	dir, err := lease.OpenDir(d.path)
	if err != nil {
		return []finding{fail("records", "", "%v", err)}
	}
	defer dir.Close() //nolint:errcheck // only read from
	ids, err := dir.Worktrees()
	if err != nil {
		return []finding{fail("records", "", "%v", err)}
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
		return fail("records", "look at the disk and the permissions of the lock directory", "worktree %s: %v", id, err)
	}
	j := lease.Judge(now, head, policy)
	switch j.State {
	case lease.Unreadable:
		return fail("records", "make sure that no writer is left, then: jvsfs doctor --repair PATH", "worktree %s: %s", id, j.Reason)
	case lease.Skewed:
		return fail("records", "set the clocks of the hosts; if the record is wrong: jvsfs doctor --repair --force PATH",
			"worktree %s: %s: %s", id, head.File, j.Reason)
	case lease.Stealable:
		return warn("records", "jvsfs lock acquire or steal takes it over", "worktree %s: %s, and it was not released; holder %s", id, j.Reason, printable(head.Record.HolderID))
	case lease.Free:
		return okf("records", "worktree %s: free, token %d", id, head.Token)
	}
	return okf("records", "worktree %s: %s by %s, token %d", id, j.State, printable(head.Record.HolderID), head.Token)
}

// mendRecords repairs what is provably safe, all that it knows with force.
func mendRecords(ctx context.Context, d lockDir, policy lease.Policy, force bool) []finding {
	dir, err := lease.OpenDir(d.path)
	if err != nil {
		return []finding{fail(checkRepair, "", "%v", err)}
	}
	defer dir.Close() //nolint:errcheck // each change was made durable
	ids, err := dir.Worktrees()
	if err != nil {
		return []finding{fail(checkRepair, "", "%v", err)}
	}
	var out []finding
	for _, id := range ids {
		mended, err := dir.Store(id).Mend(ctx, lease.SystemClock(), policy, force)
		for _, m := range mended {
			out = append(out, findingOf(id, m))
		}
		if err != nil && lease.ClassOf(err) != lease.ClassLockConflict { // a worktree that is held needs no mending
			out = append(out, fail(checkRepair, "", "worktree %s: %v", id, err))
		}
	}
	return out
}

// checkRepair is the check of what --repair has done.
const checkRepair = "repair"

func findingOf(id lease.WorktreeID, m lease.Mending) finding {
	if m.Done == "" {
		return fail(checkRepair, "make sure that nobody writes, then: jvsfs doctor --repair --force PATH",
			"worktree %s: %s: %s: not mended: %s", id, m.File, m.Problem, m.Why)
	}
	kept := ""
	if m.Kept != "" {
		kept = "; the old file is " + m.Kept
	}
	return okf(checkRepair, "worktree %s: %s: %s: %s%s", id, m.File, m.Problem, m.Done, kept)
}

// checkTaints lists late writes that nobody has looked at yet.
func checkTaints(d lockDir) []finding {
	names, err := filepath.Glob(filepath.Join(escapeGlob(d.path), "*.taint.*"))
	if err != nil {
		return []finding{warn("taint", "", "%v", err)}
	}
	var out []finding
	for _, name := range names {
		text, _ := os.ReadFile(name) // for people; a file that cannot be read is named all the same
		out = append(out, fail("taint", "compare the file with what its holder meant, then remove "+name,
			"%s: a write took effect after its lease was over: %s", name, shorten(printable(strings.TrimSpace(string(text))), 200)))
	}
	return out
}
