package layout

import (
	"github.com/jvsfs/jvsfs/lease/record"
)

// The names of a repository (locking spec v6.3, section "layout"), and of a folder.
const (
	mainName      = "main"
	worktreesName = "worktrees"
	controlName   = ".jvs"
	locksName     = "locks"
	auditName     = "audit"
)

func inRepository(name string) Entry {
	switch name {
	case mainName:
		return worktreeRoot(name)
	case worktreesName:
		return Entry{Change: Sealed, Role: worktreesDir, Mkdir: true} // a repository may get its first worktree while mounted
	case controlName:
		return Entry{Change: Sealed, Role: controlDir}
	}
	if of, is := besides(name); is && of == mainName {
		return worktreeRoot(of)
	}
	return Entry{}
}

func inWorktrees(name string) Entry {
	if name == mainName { // the id belongs to main itself: one lease must not cover both
		return bad(name)
	}
	if of, is := besides(name); is && of != mainName {
		return worktreeRoot(of)
	}
	return worktreeRoot(name)
}

func inControl(name string) Entry {
	switch name {
	case locksName:
		return Entry{Change: Sealed, Own: Sealed}
	case auditName:
		return Entry{Change: Append, Own: Append}
	}
	return ofSnapshots(name)
}

// inFolder leaves .jvs to JVS, which keeps its writers apart by .jvs/locks/repo.lock. To make
// .jvs, or take it away, is a change of the folder; so is a .jvs that is a file, as workspaces
// have it.
func inFolder(name string) Entry {
	if name == controlName {
		return Entry{Own: Open, Role: folderControl, IfDir: true}
	}
	return Entry{}
}

func worktreeRoot(name string) Entry {
	id, err := record.ParseWorktreeID(name)
	if err != nil {
		return bad(name)
	}
	r := guarded(id)
	return Entry{Change: r, Own: r}
}

func bad(name string) Entry {
	r := &Rule{Kind: BadName, Name: name}
	return Entry{Change: r, Own: r}
}
