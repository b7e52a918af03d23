package fusefs

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
)

// A snapshot of JVS is what others rely on: its descriptor has the hash of its content. From the moment that it is READY
// nobody changes it through the mount, whatever lease they hold. JVS removes it, when it collects what it does not need.

// snapshots is what is known of JVS. The zero value is of a source without it.
type snapshots struct {
	on     bool
	folder bool // of today's JVS, which has one lock for all that it changes
	// change is write-locked while a snapshot becomes READY or is removed, and read-locked by what changes one that is
	// not READY: so it has ended before.
	change sync.RWMutex
	lock   atomic.Pointer[process.Creator] // who has made the lock of a folder
	begun  begun
}

// jvsProgram is the program that may remove snapshots. As with git, its name keeps accidents out, and nobody who calls
// itself so.
const jvsProgram = "jvs"

// folderLock is the directory by which today's JVS keeps its writers apart, below the source.
const folderLock = ".jvs/locks/repo.lock"

// planMax bounds a plan of a garbage collection, in bytes.
const planMax = 16 << 20

func (s *snapshots) init(o Options) {
	s.folder = o.Layout.Name() == layout.Folder
	s.on = s.folder || o.Layout.Name() == layout.JVS
}

func (s *snapshots) close() { s.lockedBy(nil) }

// lockedBy notes who has the lock of the folder; nil: nobody.
func (s *snapshots) lockedBy(m *process.Creator) {
	if was := s.lock.Swap(m); was != nil {
		was.Close()
	}
}

// keep read-locks what is known of snapshots until the mutation ends; alone: write-locks.
func (p *permit) keep(f *rawFS, alone bool) {
	if alone {
		f.jvs.change.Lock()
		p.kept = f.jvs.change.Unlock
		return
	}
	f.jvs.change.RLock()
	p.kept = f.jvs.change.RUnlock
}

// admitSnapshotNames refuses a change of names that belong to a READY snapshot. It comes last: nothing waits any more.
func (f *rawFS) admitSnapshotNames(p *permit, op gate.Op, h *fuse.InHeader, names ...called) fuse.Status {
	var of [2]string
	at := of[:0]
	for _, c := range names {
		if !f.jvs.on || !c.dir.inSnapshots() && !f.entryOf(c.dir, c.name).CarriesSnapshots() {
			continue
		}
		rel, ok := f.relOf(c.dir, c.name)
		if !ok { // the directory has been removed
			continue
		}
		at = append(at, rel)
	}
	if len(at) == 0 {
		return fuse.OK
	}
	alone := false
	for _, rel := range at {
		alone = alone || layout.Publishes(rel)
	}
	p.keep(f, alone)
	for _, rel := range at {
		if f.fixed(op, callerID(h), rel) {
			return f.refuseSnapshot(p, gate.Refusal{Reason: gate.ReasonReady, Op: op, Caller: callerID(h)})
		}
		if st := f.admitPublishing(p, op, h, rel); st != fuse.OK {
			return st
		}
	}
	return fuse.OK
}

// admitSnapshotNode refuses a change of what lies in a READY snapshot, and of its descriptor.
func (f *rawFS) admitSnapshotNode(p *permit, op gate.Op, h *fuse.InHeader, n *node) fuse.Status {
	if !f.jvs.on || op == gate.OpFsync || !n.inSnapshots() {
		return fuse.OK
	}
	rel, ok := f.relOfNode(n)
	if !ok {
		return fuse.OK // it has no name any more
	}
	p.keep(f, false)
	if id, is := layout.SnapshotOf(rel); is && f.ready(id) {
		return f.refuseSnapshot(p, gate.Refusal{Reason: gate.ReasonReady, Op: op, Caller: callerID(h)})
	}
	return fuse.OK
}

// admitSnapshotLink is admitSnapshotNames for a further name of an inode. It stays within its snapshot: by a name elsewhere
// it could be written when the snapshot is READY.
func (f *rawFS) admitSnapshotLink(p *permit, h *fuse.InHeader, n *node, to called) fuse.Status {
	if !f.jvs.on || !n.inSnapshots() && !to.dir.inSnapshots() {
		return fuse.OK
	}
	is, named := f.relOfNode(n)
	next, ok := f.relOf(to.dir, to.name)
	of, _ := layout.SnapshotOf(is)
	if in, _ := layout.SnapshotOf(next); ok && named && in != of {
		p.abandon()
		return fuse.EXDEV
	}
	return f.admitSnapshotNames(p, gate.OpLink, h, to)
}

// refuseSnapshot refuses, and lets the mutation through if the mount only observes.
func (f *rawFS) refuseSnapshot(p *permit, no gate.Refusal) fuse.Status {
	st := f.refuseUnlessObserving(no)
	if st != fuse.OK {
		p.abandon()
	}
	return st
}

// inSnapshots reports whether an inode lies where JVS keeps snapshots.
func (n *node) inSnapshots() bool {
	var buf [4]*layout.Rule
	for _, r := range n.seenRules(buf[:0]) {
		if r.Kind == layout.Snapshot {
			return true
		}
	}
	return false
}

// fixed reports whether a caller must not change a name.
func (f *rawFS) fixed(op gate.Op, c process.Caller, rel string) bool {
	removes := op == gate.OpUnlink || op == gate.OpRmdir
	id, is := layout.SnapshotOf(rel)
	switch {
	case is:
		return f.ready(id) && (!removes || !f.collects(c, id))
	case removes || op == gate.OpRename:
		return layout.Publishes(rel) && f.someReady()
	}
	return false
}

// ready reports whether a snapshot is READY.
func (f *rawFS) ready(id string) bool {
	for _, mark := range layout.ReadyMarks(id) {
		if !f.isThere(mark) {
			return false
		}
	}
	return true
}

// isThere reports whether something lies at a path below the source.
func (f *rawFS) isThere(rel string) bool {
	fd, err := f.openBelow(rel, unix.O_PATH)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
}

// someReady reports whether there is a READY snapshot. What cannot be read may be one.
func (f *rawFS) someReady() bool {
	some := false
	err := f.eachName(layout.Descriptors, func(rel string) bool {
		id, is := layout.SnapshotOf(rel)
		some = is && f.ready(id)
		return !some
	})
	return some || err != nil && !errors.Is(err, unix.ENOENT)
}

// eachName calls what for the names in a directory below the source, until that returns false.
func (f *rawFS) eachName(dir string, what func(rel string) bool) error {
	fd, err := f.openBelow(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close() //nolint:errcheck // only read from
	for {
		names, err := d.Readdirnames(256)
		for _, name := range names {
			if !what(dir + "/" + name) {
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// collects reports whether a caller is JVS, which removes the snapshots that it does not need any more. Today's does that
// under its lock. JVS with locks takes none for it: it has written down what it removes before.
func (f *rawFS) collects(c process.Caller, id string) bool {
	if process.Program(c) != jvsProgram {
		return false
	}
	if !f.jvs.folder {
		return f.planned(id)
	}
	m := f.jvs.lock.Load()
	return m != nil && m.Is(c)
}

// planned reports whether a plan of a garbage collection names a snapshot.
func (f *rawFS) planned(id string) bool {
	found := false
	_ = f.eachName(".jvs/gc", func(rel string) bool { // what cannot be read is no plan
		if strings.HasSuffix(rel, ".json") {
			text, err := f.readBelow(rel, planMax)
			found = err == nil && layout.Plans(text, id)
		}
		return !found
	})
	return found
}

// madeLock notes who has made the lock of a folder.
func (f *rawFS) madeLock(h *fuse.InHeader, dir *node, name string) {
	if !f.isFolderLock(dir, name) {
		return
	}
	m, err := process.CreatorOf(callerID(h), nil, func() {})
	if err != nil { // it is not visible, or has ended
		m = nil
	}
	f.jvs.lockedBy(m)
}

// lostLock notes that the lock of a folder has lost its name.
func (f *rawFS) lostLock(dir *node, name string) {
	if f.isFolderLock(dir, name) {
		f.jvs.lockedBy(nil)
	}
}

func (f *rawFS) isFolderLock(dir *node, name string) bool {
	if !f.jvs.folder || !strings.HasSuffix(folderLock, "/"+name) {
		return false
	}
	rel, ok := f.relOf(dir, name)
	return ok && rel == folderLock
}
