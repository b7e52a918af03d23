package git

import (
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// git keeps its writers apart by lock files: NAME.lock is made with O_EXCL, written, and renamed to
// NAME. If git is killed the file stays, and stops everybody until a person removes it. A person, or
// an agent, that removes the lock of a living git breaks that git's work. So a lock file is kept
// while the process lives that made it, and is removed when that process ends.
//
// A lock file of a daemon that has ended is nobody's: it is a file as any other.

// lockFiles are the lock files in a repository that a living process has made through the mount.
type lockFiles struct {
	names sync.RWMutex // read-locked while a request changes the name of a lock file; locked while one is removed here

	mu      sync.Mutex
	of      map[tree.Key]*lockFile
	sweepAt int // with so many of them the next sweep is due

	endsMu sync.Mutex
	ends   []tree.Key // whose creators have ended
	wake   chan struct{}
}

// lockFile is one of them. Its directory is pinned: the kernel may forget the node.
type lockFile struct {
	dir     int
	in      tree.Key // the directory
	name    string
	creator *process.Creator
}

func (l *lockFiles) init() {
	l.of, l.sweepAt = make(map[tree.Key]*lockFile), sweepMin
	l.wake = make(chan struct{}, 1)
}

// longLived are lock files whose creator leaves them to a process that it starts (git maintenance).
var longLived = map[string]bool{"maintenance.lock": true}

// lockMade notes that a request has made a lock file.
func (g *Repository) lockMade(c process.Caller, dir tree.Inode, name string, k tree.Key) {
	if !layout.IsLock(name) || longLived[name] || !inRepository(dir) {
		return
	}
	if rel, ok := g.tree.PathOf(dir.FD(), name); !ok || !layout.MakesLock(g.inCommon(rel), g.isGitDir) {
		return
	}
	fd, err := g.tree.Reopen(dir.FD(), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	made := &lockFile{dir: fd, in: dir.Key(), name: name}
	l := &g.locks
	l.mu.Lock()
	defer l.mu.Unlock()
	if made.creator, err = process.CreatorOf(c, g.opts.Exits, func() { l.ended(k) }); err != nil {
		_ = unix.Close(fd) // it cannot be seen: the file is one as any other
		return
	}
	if old := l.of[k]; old != nil {
		old.close()
	}
	if l.of[k] = made; len(l.of) >= l.sweepAt {
		l.wakeUp()
	}
}

// isGitDir reports whether a directory below the common directory is a git directory: each has a HEAD.
func (g *Repository) isGitDir(dir string) bool {
	fd, err := g.tree.Open(path.Join(g.Layout().Repository().Common, dir, "HEAD"), unix.O_PATH)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == nil
}

// ended passes the end of a creator on. It must not block.
func (l *lockFiles) ended(k tree.Key) {
	l.endsMu.Lock()
	l.ends = append(l.ends, k)
	l.endsMu.Unlock()
	l.wakeUp()
}

func (l *lockFiles) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// isAt reports whether the lock file is where it was made. If it was removed behind the mount, its inode
// may be another file's.
func (l *lockFile) isAt(k tree.Key) bool {
	var st unix.Stat_t
	return unix.Fstatat(l.dir, l.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && tree.KeyOf(&st) == k
}

// isGone reports whether it is certainly not there. A store that fails says nothing.
func (l *lockFile) isGone(k tree.Key) bool {
	var st unix.Stat_t
	err := unix.Fstatat(l.dir, l.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == unix.ENOENT || err == nil && tree.KeyOf(&st) != k
}

func (l *lockFile) close() {
	l.creator.Close()
	_ = unix.Close(l.dir)
}

// keeper returns the creator of a lock file that somebody else must leave alone; nil if there is none.
func (l *lockFiles) keeper(k tree.Key, c process.Caller) *process.Creator {
	l.mu.Lock()
	kept := l.of[k]
	l.mu.Unlock()
	if kept == nil || kept.creator.Is(c) || !kept.creator.Lives() || !l.stands(k, kept) {
		return nil
	}
	return kept.creator
}

// stands reports whether a lock file is still one, and where it was made.
func (l *lockFiles) stands(k tree.Key, kept *lockFile) bool {
	l.mu.Lock() // otherwise its directory may be closed, and its descriptor another one's
	defer l.mu.Unlock()
	return l.of[k] == kept && kept.isAt(k)
}

// keptFrom returns the creator of the lock file dir/name that a caller must leave alone.
func (l *lockFiles) keptFrom(c process.Caller, dir tree.Inode, name string) *process.Creator {
	k, ok := lockAt(dir, name)
	if !ok {
		return nil
	}
	return l.keeper(k, c)
}

// forget takes one out of the list, if it is there. After thousands at a time (git locks each reference that it changes) few make a sweep due again.
func (l *lockFiles) forget(k tree.Key) *lockFile {
	was := l.of[k]
	delete(l.of, k)
	l.sweepAt = min(l.sweepAt, max(sweepMin, 2*len(l.of)))
	return was
}

// unlock forgets a lock file that its creator has removed.
func (l *lockFiles) unlock(k tree.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was := l.forget(k); was != nil {
		was.close()
	}
}

// moved notes the rename of a lock file. What it locked is replaced, and the lock is over. One
// that replaces another lock file belongs to the creator of that: git commit --patch lets another git
// write the index.lock that it holds.
func (l *lockFiles) moved(k tree.Key, replaced *tree.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was := l.forget(k); was != nil {
		was.close()
	}
	if replaced == nil || l.of[*replaced] == nil {
		return
	}
	of := l.of[*replaced]
	delete(l.of, *replaced)
	l.of[k] = of
	of.creator.Wake(func() { l.ended(k) })
}

// frozenAgain is how long a lock file stays after the end of a freeze at most, if the freeze was so long
// that nothing waits for its end.
const frozenAgain = time.Second

// sweepMin bounds how many lock files may have been removed behind the mount and still cost two descriptors each, until their creator ends.
const sweepMin = 8

// sweep forgets the lock files that were removed behind the mount: nothing tells of that. A change of a name is not seen half done; if there is
// one, the next lock file that is made brings the next sweep.
func (l *lockFiles) sweep() {
	if !l.names.TryLock() {
		return
	}
	defer l.names.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.of) < l.sweepAt {
		return
	}
	for k, was := range l.of {
		if was.isGone(k) {
			was.close()
			delete(l.of, k)
		}
	}
	l.sweepAt = max(sweepMin, 2*len(l.of))
}

// Run removes the lock files of creators that have ended, until stop is closed. Without a repository there is nothing to do.
func (g *Repository) Run(stop <-chan struct{}) {
	if g == nil {
		return
	}
	l := &g.locks
	var frozen []tree.Key
	for {
		var again <-chan time.Time
		if len(frozen) > 0 {
			again = time.After(frozenAgain)
		}
		select {
		case <-l.wake:
		case <-again:
		case <-stop:
			return
		}
		l.endsMu.Lock()
		ends := append(frozen, l.ends...)
		l.ends, frozen = nil, nil
		l.endsMu.Unlock()
		for _, k := range ends {
			if !g.remove(k) {
				frozen = append(frozen, k)
			}
		}
		l.sweep()
	}
}

// remove removes one, unless nothing may change just now. It passes the gate as everything that changes
// the store, and holds what every change in the repository holds. It returns false if the mount is frozen.
func (g *Repository) remove(k tree.Key) (decided bool) {
	removed, decided := g.removeLocked(k)
	if removed != nil {
		// This waits for a request in the directory, which may wait for what was locked until now.
		g.opts.Host.Expire(removed.in, removed.name)
		g.opts.Host.Info("a lock file of git was removed: its maker has ended", "name", removed.name, "maker", removed.creator.String())
	}
	return decided
}

func (g *Repository) removeLocked(k tree.Key) (removed *lockFile, decided bool) {
	pass, ok, _ := g.opts.Enforcement.Outside(false)
	if ok && g.opts.Enforcement.Quiesced() {
		pass.End()
		return nil, false
	}
	if !ok {
		return nil, g.opts.Enforcement.Mode() == gate.ReadOnly // LookAgain follows when it is read-only no more
	}
	defer pass.End()
	var h engine.Held
	defer h.Release()
	l := &g.locks
	h.Take(engine.Repository, &g.change, false)
	h.Take(engine.LockFiles, &l.names, true)
	if was := l.takeEnded(k); was != nil && g.removeEnded(k, was) {
		removed = was
	}
	return removed, true
}

func (g *Repository) removeEnded(k tree.Key, was *lockFile) (removed bool) {
	defer was.close()
	if !was.isAt(k) {
		return false
	}
	if err := unix.Unlinkat(was.dir, was.name, 0); err != nil {
		g.opts.Host.Warn("a lock file of git stays, though its maker has ended", err, "name", was.name)
		return false
	}
	return true
}

// LookAgain looks at all lock files that are left, after a switch of the mode. Without a repository there are none.
func (g *Repository) LookAgain() {
	if g == nil {
		return
	}
	l := &g.locks
	l.mu.Lock()
	left := slices.Collect(maps.Keys(l.of))
	l.mu.Unlock()
	for _, k := range left {
		l.ended(k)
	}
}

// takeEnded forgets a lock file whose creator has ended. A living creator's has got the inode since.
func (l *lockFiles) takeEnded(k tree.Key) *lockFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.of[k]
	if was == nil || was.creator.Lives() {
		return nil
	}
	return l.forget(k)
}

// close frees what is left. Nothing is served any more.
func (l *lockFiles) close() {
	for k, was := range l.of {
		was.close()
		delete(l.of, k)
	}
}

// lockAt finds the lock file that has a name.
func lockAt(dir tree.Inode, name string) (k tree.Key, ok bool) {
	if !layout.IsLock(name) {
		return k, false
	}
	st, ok := tree.Stat(dir.FD(), name)
	return tree.KeyOf(&st), ok
}

// keepLock judges a change of the name of a lock file that is not the caller's own: another process may
// make one of that name meanwhile. So it is judged again when nothing else in the repository changes.
func (g *Repository) keepLock(rules []*layout.Rule, c process.Caller, dir tree.Inode, name string) (_ []*layout.Rule, foreign bool) {
	k, ok := lockAt(dir, name)
	if !ok || !inRepository(dir) || g.locks.isOf(k, c) {
		return rules, false
	}
	if g.locks.keeper(k, c) != nil {
		rules = layout.AddRule(rules, layout.Fixed) // Ask says whose it is
	}
	return rules, true
}

// isOf reports whether a lock file was made by a caller, or by who has started it.
func (l *lockFiles) isOf(k tree.Key, c process.Caller) bool {
	l.mu.Lock()
	kept := l.of[k]
	l.mu.Unlock()
	return kept != nil && kept.creator.Is(c)
}

// kept is the refusal of a change of what somebody keeps.
func kept(op gate.Op, c process.Caller, by *process.Creator) error {
	if by == nil {
		return nil
	}
	return &gate.Refusal{Reason: gate.ReasonKept, Op: op, Caller: c, Holder: gate.HolderOfCreator(by)}
}
