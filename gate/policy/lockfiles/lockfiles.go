// Package lockfiles judges changes by the rules about other programs' lock files (gate/lockfile): which files are locks, what they guard,
// and what is fixed when it has been made. Whose turn it is says gate/tenure.
//
// A rule goes by the place that the backing file system tells of an inode, as exempt places do, and never by a path of the caller. A change
// of what a lock guards asks the gate of that lock besides those of the layout. A change of a lock's own name takes its turn first.
//
// It promises that a change of what rules say something of is refused, or asks each gate that is returned here; whoever asks enters them.
// It does not enter them itself, so it waits for nobody but in [Policy.Turn].
package lockfiles

import (
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Policy is that of a mount with rules. A nil one is that of a mount without: of a name or an inode that was not looked at it says nothing,
// and nothing grows.
//
// An error of its methods is the answer: a *[gate.Refusal], which is to be counted and told; [engine.Told], which is to be counted; or a
// [syscall.Errno]. If the mount only observes, the change goes on after the first of them: guards that come with it are those of the change.
type Policy struct {
	book        *tenure.Book
	tree        *tree.Tree
	fs          FileSystem
	enforcement *gate.Enforcement
	flocks      flocks
}

// Inode is an inode that is changed.
type Inode interface {
	tree.Inode
	// BeingMade reports whether it is open still for whoever has made it.
	BeingMade() bool
}

// FileSystem is what only the file system can tell, or do. Its methods may be called at the same time.
type FileSystem interface {
	// PathOf is the path of an inode below the source; false if it has no name any more.
	PathOf(i tree.Inode) (path string, ok bool)
	// Replaced reports whether another daemon serves what rules cover: then files change without being asked for here.
	Replaced() bool
	// Expire makes the kernel ask again for a name in a directory, if it knows that.
	Expire(dir tree.Key, name string)
	// Prepare adds the file system's hooks to a new guard.
	Prepare(g *gate.Guard)
}

// New returns the policy of a source with rules.
func New(book *tenure.Book, t *tree.Tree, fs FileSystem, e *gate.Enforcement) *Policy {
	return &Policy{book: book, tree: t, fs: fs, enforcement: e}
}

// fixed is the refusal of a change of what a rule fixes.
func fixed(why gate.Reason, op gate.Op, c process.Caller, r *lockfile.Rule, path string) error {
	return &gate.Refusal{Reason: why, Op: op, Caller: c, Lock: &gate.LockFile{Rule: r.Name, Path: path}}
}

// told is a refusal of the book, which has told it.
func told(no *gate.Refusal) error {
	if no == nil {
		return nil
	}
	return engine.Told{Errno: no.Errno}
}
