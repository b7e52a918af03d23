package lockdir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
	"github.com/jvsfs/jvsfs/lease/repair"
)

// LeftoverAge is the age at which a temporary record counts as a leftover. Normally one lives for milliseconds.
const LeftoverAge = time.Minute

// Dir is a lock directory to check.
type Dir struct {
	Path  string
	Name  string           // for people
	Store *api.StoreStatus // its file system, if several hosts are known to use it

	NameCache string // what its client remembers of names that do not exist (host.MountTable.NameCache), "" for nothing
}

// open opens it under its name for people: what is said of a file names it as they find it, and not by a daemon's descriptor.
func (d Dir) open() (*lease.Dir, error) { return lease.OpenDirToLookAt(d.Path, d.Name) }

// openToRepair is open, and makes it private.
func (d Dir) openToRepair() (*lease.Dir, error) {
	return lease.OpenDirAt(unix.AT_FDCWD, d.Path, d.Name)
}

// shown is the path of a file of the directory for people.
func (d Dir) shown(file string) string { return filepath.Join(d.Name, filepath.Base(file)) }

// CheckAll checks lock directories, each once.
func CheckAll(ctx context.Context, dirs []Dir, policy record.Policy, fix Repair) []finding.Finding {
	var out []finding.Finding
	seen := map[string]bool{}
	for _, d := range dirs {
		if !seen[d.Path] {
			seen[d.Path] = true
			out = append(out, Check(ctx, d, policy, fix)...)
		}
	}
	return out
}

// Check checks everything in a lock directory, and repairs what fix allows.
func Check(ctx context.Context, d Dir, policy record.Policy, fix Repair) []finding.Finding {
	info, err := os.Lstat(d.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []finding.Finding{finding.OK("locks.none", "%s does not exist yet: nobody has held a lease there", d.Name)}
	case errors.Is(err, os.ErrPermission):
		return []finding.Finding{finding.Warn("locks.denied", "run doctor as root", "%v", err)}
	case err != nil:
		return []finding.Finding{finding.Fail("locks.unreadable", "look at the disk and the permissions of the lock directory", "%v", err)}
	case !info.IsDir():
		return []finding.Finding{finding.Fail("locks.kind", "move it away", "%s is not a directory", d.Name)}
	}
	out := append([]finding.Finding{checkLockMode(d, info)}, checkExposure(d)...)
	if said, err := authorityAt(d); err != nil || said != "" {
		return append(out, governedFindings(d, said, err)...)
	}
	if f, err := tierOf(d); err != nil {
		out = append(out, finding.Warn("tier.unknown", "look at the disk and the permissions of the lock directory", "%v", err))
	} else {
		out = append(out, f)
	}
	out = append(out, probeFindings(d.Name, probeDir(d.Path, probeSteps), policy.MaxClockSkew)...)
	out = append(out, checkSpace(d)...)
	if fix.Safe {
		out = append(out, repairProbes(d)...)
		out = append(out, repairRecords(ctx, d, policy, fix.Force)...)
	}
	out = append(out, checkLeftovers(d)...)
	out = append(out, checkTaints(d)...)
	return append(out, checkRecords(d, policy)...)
}

func checkLockMode(d Dir, info os.FileInfo) finding.Finding {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return finding.Fail("locks.mode", "chmod 700 "+d.Name, "%s has mode %04o: the nonces in it are secrets", d.Name, mode)
	}
	return finding.OK("locks.mode", "%s is private", d.Name)
}

func checkLeftovers(d Dir) []finding.Finding {
	names, err := namesIn(d.Path, func(name string) bool { return record.IsLeftover(name) || isProbe(name) })
	if err != nil {
		return []finding.Finding{finding.Warn("leftovers.scan", "run doctor as root", "%v", err)}
	}
	var out []finding.Finding
	for _, name := range names {
		info, err := os.Lstat(name)
		if err == nil && time.Since(info.ModTime()) > LeftoverAge {
			out = append(out, finding.Warn("leftovers.stale", "jvsfs doctor --repair PATH", "%s is left of a command that was interrupted; it is harmless", d.shown(name)))
		}
	}
	return out
}

// namesIn are the paths in a directory whose names are of a kind. A glob pattern will not do, because an id may
// contain its characters.
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

func checkRecords(d Dir, policy record.Policy) []finding.Finding {
	dir, err := d.open()
	if err != nil {
		return []finding.Finding{finding.Fail("records.failed", "look at the disk and the permissions of the lock directory", "%v", err)}
	}
	defer dir.Close() //nolint:errcheck // only read from
	ids, err := dir.Worktrees()
	if err != nil {
		return []finding.Finding{finding.Fail("records.failed", "look at the disk and the permissions of the lock directory", "%v", err)}
	}
	out := make([]finding.Finding, 0, len(ids))
	for _, id := range ids {
		out = append(out, checkRecord(dir, id, policy))
	}
	return out
}

func checkRecord(dir *lease.Dir, id lease.WorktreeID, policy record.Policy) finding.Finding {
	now := lease.SystemClock().Wall()
	head, err := dir.Store(id).Head()
	if err != nil {
		return finding.Fail("records.failed", "look at the disk and the permissions of the lock directory", "worktree %s: %v", id, err)
	}
	j := lease.JudgeRead(now, lease.SystemClock().Wall(), head, policy)
	switch j.State {
	case lease.Unreadable:
		return finding.Fail("records.unreadable", "make sure that no writer is left, then: jvsfs doctor --repair PATH", "worktree %s: %s", id, j.Reason)
	case lease.Skewed:
		return finding.Fail("records.skewed", "set the clocks of the hosts; if the record is wrong: jvsfs doctor --repair --force PATH",
			"worktree %s: %s: %s", id, head.File, j.Reason)
	case lease.Stealable:
		return finding.Warn("records.unreleased", "jvsfs lock acquire or steal takes it over", "worktree %s: %s, and it was not released; holder %s", id, j.Reason, human.Printable(head.Record.HolderID))
	case lease.Free:
		return finding.OK("records.free", "worktree %s: free, token %d", id, head.Token)
	}
	return finding.OK("records.held", "worktree %s: %s by %s, token %d", id, j.State, human.Printable(head.Record.HolderID), head.Token)
}

// repairPatience bounds the wait for the gates of all worktrees together: a daemon that is asked to repair must
// answer within AnswerTimeout, also if others keep gates. After that time each further gate is tried once.
const repairPatience = api.AnswerTimeout / 2

// repairRecords repairs what is provably safe, and with force everything that it can repair.
func repairRecords(ctx context.Context, d Dir, policy record.Policy, force bool) []finding.Finding {
	dir, err := d.openToRepair()
	if err != nil {
		return []finding.Finding{finding.Fail("repair.failed", "look at the disk and the permissions of the lock directory", "%v", err)}
	}
	defer dir.Close() //nolint:errcheck // each change was made durable
	ids, err := dir.Worktrees()
	if err != nil {
		return []finding.Finding{finding.Fail("repair.failed", "look at the disk and the permissions of the lock directory", "%v", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, repairPatience)
	defer cancel()
	var out []finding.Finding
	for _, id := range ids {
		repaired, err := repair.Worktree(ctx, dir.Store(id), lease.SystemClock(), policy, force)
		for _, m := range repaired {
			out = append(out, findingOf(id, m))
		}
		if err != nil && lease.ClassOf(err) != lease.ClassLockConflict { // a worktree that is held needs no repair
			out = append(out, finding.Fail("repair.failed", "look at the disk and the permissions of the lock directory", "worktree %s: %v", id, err))
		}
	}
	return out
}

// CheckRepair is the name of the check that reports what --repair has done.
const CheckRepair = "repair"

func findingOf(id lease.WorktreeID, m repair.Fault) finding.Finding {
	if m.Done == "" {
		return finding.Fail("repair.notmended", "make sure that nobody writes, then: jvsfs doctor --repair --force PATH",
			"worktree %s: %s: %s: not repaired: %s", id, m.File, m.Problem, m.Why)
	}
	kept := ""
	if m.Kept != "" {
		kept = "; the old file is " + m.Kept
	}
	return finding.OK("repair.done", "worktree %s: %s: %s: %s%s", id, m.File, m.Problem, m.Done, kept)
}

// checkTaints lists late writes that nobody has cleared yet.
func checkTaints(d Dir) []finding.Finding {
	names, err := namesIn(d.Path, record.IsTaint)
	if err != nil {
		return []finding.Finding{finding.Warn("taint.scan", "run doctor as root", "%v", err)}
	}
	var out []finding.Finding
	for _, name := range names {
		text := host.TextUpTo(name, 4096) // for people. The owner of a repository can make its lock directory: what cannot be read is named all the same
		out = append(out, finding.Fail("taint.late", "compare the file with what its holder meant, then remove "+d.shown(name),
			"%s: a write took effect after its lease was over: %s", d.shown(name), human.Shorten(human.Printable(strings.TrimSpace(text)), 200)))
	}
	return out
}

// Repair is what doctor may change.
type Repair struct{ Safe, Force bool }
