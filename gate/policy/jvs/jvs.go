// Package jvs keeps snapshots of JVS as they are. A snapshot is what others rely on: its descriptor has the hash of its content. From the
// moment that it is READY nobody changes it through the mount, whatever lease they hold. JVS removes it, when it collects what it does not
// need.
//
// It promises that for every name and inode below the places where JVS keeps snapshots. It does not promise it for another name of the same
// inode that lies elsewhere: none is made through the mount (EXDEV).
package jvs

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Snapshots is the policy of a source with JVS.
type Snapshots struct {
	layout layout.Layout
	tree   *tree.Tree
	guard  func(*layout.Rule) (*gate.Guard, error)

	folder bool // of today's JVS, which has one lock for all that it changes
	// change is write-locked while a snapshot becomes READY or is removed, and read-locked by what changes one that is
	// not READY: so it has ended before.
	change sync.RWMutex
	lock   atomic.Pointer[process.Creator] // who has made the lock of a folder
	begun  begun
}

// program may remove snapshots. As with git, its name keeps accidents out, and nobody who calls itself so.
const program = "jvs"

// folderLock is the directory by which today's JVS keeps its writers apart, below the source.
const folderLock = ".jvs/locks/repo.lock"

// planMax bounds a plan of a garbage collection, in bytes.
const planMax = 16 << 20

// Serves reports whether JVS keeps snapshots in a layout.
func Serves(l layout.Layout) bool { return l.Name() == layout.Folder || l.Name() == layout.JVS }

// New returns the policy. guard is the gate of a worktree's rule. Close must follow.
func New(l layout.Layout, t *tree.Tree, guard func(*layout.Rule) (*gate.Guard, error)) *Snapshots {
	return &Snapshots{layout: l, tree: t, guard: guard, folder: l.Name() == layout.Folder}
}

// Close frees what is held. Nothing is served any more.
func (s *Snapshots) Close() { s.lockedBy(nil) }

// Ask implements [engine.Policy]. What is READY may change while a change waits, so it is judged later.
func (s *Snapshots) Ask(*engine.Mutation) error { return nil }

// Plan implements [engine.Policy]: it refuses a change of what belongs to a READY snapshot.
func (s *Snapshots) Plan(m *engine.Mutation, p *engine.Plan) error {
	switch {
	case m.Op == gate.OpLink:
		return s.planLink(m, p)
	case m.Inode != nil:
		return s.planInode(m, p)
	}
	return s.planNames(m, p)
}

// nowhere answers for what has no place that can be told: it has lost its name, or its path is too long. Then it may be READY, and is not
// changed.
func (s *Snapshots) nowhere(m *engine.Mutation, i tree.Inode) error {
	if s.tree.TooLong(i.FD()) {
		return &gate.Refusal{Reason: gate.ReasonReady, Op: m.Op, Caller: m.Caller}
	}
	return nil
}

// planInode judges a change of what lies in a snapshot, and of its descriptor.
func (s *Snapshots) planInode(m *engine.Mutation, p *engine.Plan) error {
	if m.Op == gate.OpFsync || !inSnapshots(m.Inode) {
		return nil
	}
	rel, ok := s.tree.Path(m.Inode.FD())
	if !ok {
		return s.nowhere(m, m.Inode)
	}
	op, c := m.Op, m.Caller
	p.Hold(engine.Snapshots, &s.change, false)
	p.Judge(func() error {
		if id, is := layout.SnapshotOf(rel); is && s.ready(id) {
			return &gate.Refusal{Reason: gate.ReasonReady, Op: op, Caller: c}
		}
		return nil
	})
	return nil
}

// planNames judges a change of names that belong to a snapshot.
func (s *Snapshots) planNames(m *engine.Mutation, p *engine.Plan) error {
	op, c := m.Op, m.Caller
	for _, n := range m.Names {
		if !inSnapshots(n.Dir) && !s.layout.Entry(n.Dir.Role(), n.Name).CarriesSnapshots() {
			continue
		}
		rel, ok := s.tree.PathOf(n.Dir.FD(), n.Name)
		if !ok {
			if err := s.nowhere(m, n.Dir); err != nil {
				return err
			}
			continue
		}
		p.Hold(engine.Snapshots, &s.change, layout.Publishes(rel))
		p.Judge(func() error {
			if s.fixed(op, c, rel) {
				return &gate.Refusal{Reason: gate.ReasonReady, Op: op, Caller: c}
			}
			return s.publishing(op, c, rel)
		})
	}
	return nil
}

// planLink judges a further name of an inode. It stays within its snapshot: by a name elsewhere it could be written when the snapshot is READY.
func (s *Snapshots) planLink(m *engine.Mutation, p *engine.Plan) error {
	to := m.Names[0]
	if !inSnapshots(m.Inode) && !inSnapshots(to.Dir) {
		return nil
	}
	is, named := s.tree.Path(m.Inode.FD())
	next, ok := s.tree.PathOf(to.Dir.FD(), to.Name)
	of, _ := layout.SnapshotOf(is)
	if in, _ := layout.SnapshotOf(next); ok && named && in != of {
		return syscall.EXDEV
	}
	if !named {
		if err := s.nowhere(m, m.Inode); err != nil {
			return err
		}
	}
	return s.planNames(m, p)
}

// Done implements [engine.Policy].
func (s *Snapshots) Done(m *engine.Mutation) {
	switch m.Op {
	case gate.OpUnlink, gate.OpRmdir, gate.OpRename:
		if s.isFolderLock(m.Names[0]) { // it has lost its name
			s.lockedBy(nil)
		}
	}
}

// After implements [engine.Policy]: it notes what a directory that JVS has made means. It reads, and asks for a lease, which takes long where the
// store does.
func (s *Snapshots) After(m *engine.Mutation) {
	if m.Op == gate.OpMkdir {
		s.made(m.Names[0], m.Caller)
	}
}

// made notes what a directory that JVS has made means.
func (s *Snapshots) made(n engine.Name, by process.Caller) {
	s.begins(n)
	if !s.isFolderLock(n) {
		return
	}
	c, err := process.CreatorOf(by, nil, func() {})
	if err != nil { // it is not visible, or has ended
		c = nil
	}
	s.lockedBy(c)
}

// lockedBy notes who has the lock of the folder; nil: nobody.
func (s *Snapshots) lockedBy(c *process.Creator) {
	if was := s.lock.Swap(c); was != nil {
		was.Close()
	}
}

func (s *Snapshots) isFolderLock(n engine.Name) bool {
	if !s.folder || !strings.HasSuffix(folderLock, "/"+n.Name) {
		return false
	}
	rel, ok := s.tree.PathOf(n.Dir.FD(), n.Name)
	return ok && rel == folderLock
}

// inSnapshots reports whether an inode lies where JVS keeps snapshots.
func inSnapshots(i tree.Inode) bool { return i.HasRule(layout.Snapshot) }

// fixed reports whether a caller must not change a name.
func (s *Snapshots) fixed(op gate.Op, c process.Caller, rel string) bool {
	removes := op == gate.OpUnlink || op == gate.OpRmdir
	id, is := layout.SnapshotOf(rel)
	switch {
	case is:
		return s.ready(id) && (!removes || !s.collects(c, id))
	case removes || op == gate.OpRename:
		return layout.Publishes(rel) && s.someReady()
	}
	return false
}

// Ready reports whether a path below the source belongs to a snapshot that is READY.
func (s *Snapshots) Ready(rel string) bool {
	id, is := layout.SnapshotOf(rel)
	return is && s.ready(id)
}

func (s *Snapshots) ready(id string) bool {
	for _, mark := range layout.ReadyMarks(id) {
		if !s.tree.Exists(mark) {
			return false
		}
	}
	return true
}

// someReady reports whether there is a READY snapshot. What cannot be read may be one.
func (s *Snapshots) someReady() bool {
	some := false
	err := s.tree.Names(layout.Descriptors, func(name string) bool {
		some = s.Ready(layout.Descriptors + "/" + name)
		return !some
	})
	return some || err != nil && !errors.Is(err, unix.ENOENT)
}

// collects reports whether a caller is JVS, which removes the snapshots that it does not need any more. Today's does that
// under its lock. JVS with locks takes none for it: it has written down what it removes before.
func (s *Snapshots) collects(c process.Caller, id string) bool {
	if process.Program(c) != program {
		return false
	}
	if !s.folder {
		return s.planned(id)
	}
	by := s.lock.Load()
	return by != nil && by.Is(c)
}

// planned reports whether a plan of a garbage collection names a snapshot.
func (s *Snapshots) planned(id string) bool {
	const plans = ".jvs/gc"
	found := false
	_ = s.tree.Names(plans, func(name string) bool { // what cannot be read is no plan
		if strings.HasSuffix(name, ".json") {
			text, err := s.tree.Read(plans+"/"+name, planMax)
			found = err == nil && layout.Plans(text, id)
		}
		return !found
	})
	return found
}
