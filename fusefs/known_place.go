package fusefs

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/inotify"
)

// Rules go by the place of a directory, which each change of a name in it needs. To ask the backing file system (d_path) is a system call,
// so the answer is remembered as long as nothing has moved that it depends on: the directory itself, and those above it.
//
//   - A rename of a directory through the mount ends all that is remembered. While it is under way nothing is believed.
//   - A rename past the mount, and through another one, is told by inotify: each directory that is remembered is
//     watched for its own moves (IN_MOVE_SELF), whoever makes them and by whatever path. That is some
//     milliseconds later, as with every change past the mount.
//   - A directory is remembered only if the one above it is, and really is the one above it. So none is missing on the way up.
//   - Each was watched before it was asked where it is. What moved in between counts as a later move.
//
// Where inotify does not see all (a store that other kernels write), or has no more watches, it is asked each time. A file
// is always asked for: it may have moved to where nothing is watched.
type knownPlaces struct {
	moves   atomic.Uint64   // grows when a directory may have got another place
	moving  atomic.Int32    // renames of directories through the mount that are under way
	hears   atomic.Bool     // moves past the mount are told
	inotify *inotify.Client // nil: there is none

	mu      sync.Mutex
	watched inotify.Watches[*node]
	most    int // fewer than placesMax if the kernel allows no more
}

// knownPlace is the place of a directory, as it was after so many moves.
type knownPlace struct {
	path  string
	moves uint64
}

// placesMax bounds what is remembered: a path for each, and about 1 KiB in the kernel.
const placesMax = 4096

func newKnownPlaces() *knownPlaces {
	client, _ := inotify.New() // without one it is asked each time
	return &knownPlaces{inotify: client, watched: inotify.NewWatches[*node](), most: placesMax}
}

func (k *knownPlaces) close() {
	if k == nil {
		return
	}
	k.hears.Store(false)
	if k.inotify != nil {
		k.inotify.Close()
	}
}

// run hears of moves until stop is closed.
func (k *knownPlaces) run(stop <-chan struct{}) {
	if k == nil || k.inotify == nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(k.hear)
	<-stop
	k.close() // ends hear
	wg.Wait()
}

func (k *knownPlaces) hear() {
	k.hears.Store(true)
	defer k.hears.Store(false)
	for {
		if _, err := k.inotify.Next(k.heard); err != nil {
			return
		}
	}
}

// heard takes in what inotify tells. Which directory has moved does not matter: it is rare. Where events were lost, any may have.
func (k *knownPlaces) heard(e inotify.Event) (calm bool) {
	if e.Mask&unix.IN_IGNORED == 0 || k.unwatched(e.Watch) {
		k.moved()
	}
	return false
}

// unwatched reports whether the kernel has ended a watch of its own accord. Those that drop has ended are not there any more.
func (k *knownPlaces) unwatched(watch int32) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, known := k.watched.Of[watch]
	if known {
		n.placeWatched.Store(false)
		k.watched.Delete(watch)
	}
	return known
}

// dirPath is pathOf for a directory.
func (f *rawFS) dirPath(n *node) (string, bool) {
	if at, ok := f.places.of(n); ok {
		return at, true
	}
	at := f.learnPlace(n, "")
	return at, at != ""
}

// of is the place of a directory, if it is remembered and still counts.
func (k *knownPlaces) of(n *node) (string, bool) {
	if k == nil || k.moving.Load() > 0 {
		return "", false
	}
	at := n.knownPlace.Load()
	if at == nil || at.moves != k.moves.Load() || !k.hears.Load() {
		return "", false
	}
	return at.path, true
}

// learnPlace asks where a directory is, and remembers it. It is empty for one without a place. With want, only that place is of use.
func (f *rawFS) learnPlace(n *node, want string) string {
	k := f.places
	watched := k != nil && k.hears.Load() && k.watch(f, n)
	moves := uint64(0)
	if watched {
		moves = k.moves.Load() // before it is asked
	}
	at, ok := f.source.Place(n.fd)
	if !ok {
		return ""
	}
	if watched && (want == "" || at == want) && (n == f.root || f.isRightBelow(n, at, moves)) {
		n.knownPlace.Store(&knownPlace{at, moves})
	}
	return at
}

// isRightBelow reports whether the directory above a place is the one in which the kernel has seen the directory, and is
// remembered after just so many moves.
func (f *rawFS) isRightBelow(n *node, at string, moves uint64) bool {
	parents, above := n.parentList(), placeAbove(at)
	if len(parents) != 1 {
		return false
	}
	up := parents[0]
	if _, ok := f.places.of(up); !ok {
		f.learnPlace(up, above) // which is shorter, so that this ends
	}
	up.leansOn.Store(true)
	known := up.knownPlace.Load()
	// A node that was forgotten is not watched any more, and its descriptor may have been another one's.
	return known != nil && known.moves == moves && known.path == above && f.nodes.get(up.id) == up
}

// placeAbove is the place of the directory above a place.
func placeAbove(at string) string {
	i := strings.LastIndexByte(at, '/')
	return at[:max(i, 1)]
}

// watch has the kernel tell of moves of a directory. When it returns true it does.
func (k *knownPlaces) watch(f *rawFS, n *node) bool {
	if n == f.root || n.placeWatched.Load() { // the source has the same place wherever it is
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watched.Len() >= k.most || f.nodes.get(n.id) != n {
		return false
	}
	// The number of the descriptor may be another inode's just now. That one keeps the watch that it has.
	watch, err := k.inotify.Add(n.path(), unix.IN_MOVE_SELF|unix.IN_ONLYDIR|unix.IN_MASK_CREATE)
	if err != nil {
		if errors.Is(err, unix.ENOSPC) {
			k.most = k.watched.Len()
		}
		return false
	}
	k.watched.Put(watch, n)
	if f.nodes.get(n.id) != n {
		k.drop(n)
		return false
	}
	n.placeWatched.Store(true)
	return true
}

// forget ends the watch of a node that the kernel has forgotten.
func (k *knownPlaces) forget(n *node) {
	if k == nil || !n.IsDir() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(n)
}

// drop ends a watch. The caller has the lock.
func (k *knownPlaces) drop(n *node) {
	watch, known := k.watched.By[n]
	if !known {
		return
	}
	k.watched.Delete(watch)
	n.placeWatched.Store(false)
	if n.leansOn.Load() { // places below it are remembered, which would be wrong after a move of it
		k.moved()
	}
	k.inotify.Remove(watch)
}

// move begins a rename of directories through the mount. end must follow when it is made, or not.
func (k *knownPlaces) move() (end func()) {
	if k == nil {
		return func() {}
	}
	k.moving.Add(1)
	return func() {
		k.moved()
		k.moving.Add(-1)
	}
}

// moved ends all that is remembered.
func (k *knownPlaces) moved() {
	if k != nil {
		k.moves.Add(1)
	}
}
