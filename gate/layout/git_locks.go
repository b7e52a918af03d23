package layout

import (
	"path"
	"slices"
	"strings"
)

const modulesName = "modules"

// lockedPaths are what git locks in one place of a git directory (hold_lock_file_for_update in its source).
var lockedPaths = []string{
	"config", "config.worktree", gcLogName, "gc.pid", packedName, "shallow", "info/sparse-checkout",
	"objects/info/alternates", "objects/info/commit-graph", "objects/info/commit-graphs/commit-graph-chain",
	"objects/maintenance", "objects/pack/multi-pack-index", "objects/pack/multi-pack-index.d/multi-pack-index-chain", "objects/schedule",
}

// lockedDirs are those in which git locks files of many names. All that lies there is its own.
var lockedDirs = []string{"rebase-apply", "rebase-merge", "reftable", "sequencer"}

const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"

// MakesLock reports whether git makes a lock file of a name, by its path below the common directory. Nobody but git
// keeps anything in these places: what ends in .lock elsewhere may be the Cargo.lock of a clone or a worktree that
// lies there, or a tool's. isGitDir reports whether a directory below the common directory is a git directory, as
// that of a submodule, whose name may have several parts.
func MakesLock(rel string, isGitDir func(dir string) bool) bool {
	dir := ""
	if below, in := strings.CutPrefix(rel, adminsName+"/"); in {
		name, _, _ := strings.Cut(below, "/")
		dir = path.Join(adminsName, name)
	}
	in := strings.TrimPrefix(strings.TrimPrefix(rel, dir), "/")
	if !strings.HasPrefix(in, modulesName+"/") {
		return locksInGitDir(in)
	}
	for i := len(rel) - len(in) + len(modulesName) + 1; i < len(rel); i++ {
		if rel[i] == '/' && locksInGitDir(rel[i+1:]) && isGitDir(rel[:i]) {
			return true
		}
	}
	return false
}

func locksInGitDir(rel string) bool {
	locked, is := strings.CutSuffix(rel, lockSuffix)
	dir, name := path.Split(locked)
	switch top, _, _ := strings.Cut(dir, "/"); {
	case !is || name == "":
		return rel == packedNew
	case top == refsName, top == logsName:
		return true
	case dir == "":
		return locksAtTop(name)
	case top == "svn": // git svn has an index and settings there
		return name == "index" || name == ".metadata"
	}
	return slices.Contains(lockedDirs, path.Clean(dir)) || slices.Contains(lockedPaths, locked)
}

// locksAtTop: refs of a checkout and what else is called in capitals (MERGE_RR, SQUASH_MSG), and the indexes,
// also those for a moment (next-index-PID of git commit, index.stash.PID).
func locksAtTop(name string) bool {
	return strings.Trim(name, capitals) == "" || name == "index" || strings.HasPrefix(name, "index.") ||
		strings.HasPrefix(name, "next-index-") || slices.Contains(lockedPaths, name)
}
