package layout

import (
	"fmt"
	"strings"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/lease"
)

// Name is a layout as an admin writes it.
type Name string

// The layouts. Auto chooses one of the others by what is there.
const (
	Auto   Name = "auto"
	Tree   Name = "tree"       // one guard for the whole source
	JVS    Name = "jvs"        // a repository of the locking spec: main and worktrees/* are guarded one by one
	Folder Name = "jvs-folder" // a folder of today's JVS: one guard for all but .jvs, which JVS looks after
	Git    Name = "git"        // a git repository: a guard for each of its checkouts, with its part of the common directory
)

// Layout is one of the tables. The zero value is none of them: New makes one. A Layout is a
// value; it may be used from many goroutines.
type Layout struct {
	name Name
	tree lease.WorktreeID // of the one guard of Tree and Folder, and of the main checkout of Git
	git  *Repository      // of Git

	parts *lockfile.Rules // of Tree: the directories with a lease of their own; nil: none
}

// New returns a layout by its name. tree is the worktree of a source that has one guard; JVS
// takes the ids from the names.
func New(name Name, tree lease.WorktreeID) (Layout, error) {
	switch name {
	case Tree, Folder, Git:
		if tree == "" {
			return Layout{}, fmt.Errorf("layout %s: no worktree id", name)
		}
	case JVS:
	default:
		return Layout{}, fmt.Errorf("layout %q: want %s, %s, %s or %s", name, Tree, JVS, Folder, Git)
	}
	l := Layout{name: name, tree: tree}
	if name == Git {
		l.git = &Repository{Common: gitName}
	}
	return l, nil
}

// With is the layout Git of a repository.
func (l Layout) With(r Repository) Layout {
	if l.name == Git {
		l.git = &r
	}
	return l
}

// Repository is what With was told; nil for any other layout than Git.
func (l Layout) Repository() *Repository { return l.git }

// Name tells which layout it is.
func (l Layout) Name() Name { return l.name }

// ByName reports whether names below the root decide who judges. Then the file system must
// tell upper from lower case, a file may have names under several rules, and the rename of a
// directory may change the rule of a whole tree.
func (l Layout) ByName() bool { return l.name != Tree || l.HasParts() }

// Guards says for people what the layout guards of a source.
func (n Name) Guards(source string) string {
	switch n {
	case JVS:
		return "main and each of worktrees/* below " + source + " have a lease of their own"
	case Folder:
		return "one lease guards all of " + source + " but .jvs, which JVS looks after"
	case Git:
		return "each checkout of the git repository below " + source + " has a lease of its own, with its part of the repository"
	}
	return "one lease guards all of " + source
}

// Root is the source's own directory.
func (l Layout) Root() Entry {
	switch l.name {
	case JVS:
		return Entry{Own: Open, Role: repositoryRoot}
	case Folder:
		return Entry{Own: guarded(l.tree), Role: folderRoot}
	case Git:
		return l.gitRoot()
	}
	return Entry{Own: guarded(l.tree), Role: l.roleAbove("")}
}

// Entry is a name in a directory that has a role.
func (l Layout) Entry(dir Role, name string) Entry {
	switch dir {
	case repositoryRoot:
		return inRepository(name)
	case worktreesDir:
		return inWorktrees(name)
	case controlDir:
		return inControl(name)
	case folderRoot:
		return inFolder(name)
	case folderControl:
		return ofSnapshots(name)
	}
	if above, ok := strings.CutPrefix(string(dir), string(aboveParts)); ok {
		return l.inAboveParts(above, name)
	}
	return l.gitEntry(dir, name)
}
