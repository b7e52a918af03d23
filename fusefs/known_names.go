package fusefs

import (
	"strings"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
)

// On a FUSE store that other kernels write, to look for a name costs a request, and whoever makes a file is asked for its name first.
// In a directory that was made under the lease, the names are known as long as it lasts: only its holder makes any, and all of them
// come through here. So what is not among them is not there. Nobody who held before can have put a name there which the client of the
// store does not show yet, as its listing of an older directory might.
//
//   - A change of a name past the mount on this machine is told by the directory's watch, and ends it. The directory is listed once after
//     it is watched, in case somebody was faster.
//   - It counts for as long as the kernel may keep a name, and ends with each lease.
//   - Names that a store may take for one another (upper and lower case, other alphabets), and those that it may have without listing them
//     (".snap"), are asked for.

// knownNames is what may stand in a directory that was made under a lease.
type knownNames struct {
	losses uint64    // how many leases had ended before
	made   time.Time // with the monotonic clock

	mu     sync.Mutex
	missed int // names that the store was asked for, and did not have
	listed bool
	names  map[string]struct{}
}

// listAfter is after how many misses a new directory is listed: that costs as many requests.
const listAfter = 2

// knownNamesMax bounds the names of one directory.
const knownNamesMax = 4096

// madeDir notes that a directory was just made, under a lease that had not ended after so many others.
func (f *rawFS) madeDir(n *node, losses uint64) {
	if f.syncs && n != nil && n.IsDir() && n.Role() == layout.Plain {
		n.knownNames.Store(&knownNames{losses: losses, made: time.Now(), names: make(map[string]struct{})})
	}
}

// isAbsent reports whether it is known that a directory does not have a name.
func (f *rawFS) isAbsent(dir *node, name string) bool {
	d := f.knownNamesOf(dir)
	return d != nil && d.lacks(name)
}

// knownNamesOf is what is known of a directory that was made under a lease which still lasts, and is watched. Otherwise it is nil.
func (f *rawFS) knownNamesOf(dir *node) *knownNames {
	d := dir.knownNames.Load()
	switch {
	case d == nil:
	case d.losses != f.losses.Load() || time.Since(d.made) > longTimeout:
		dir.knownNames.Store(nil)
	case f.watcher.has(dir) && f.cacheTTL(dir) > f.opts.CacheTimeout:
		return d
	}
	return nil
}

// lookedInVain notes that the store does not have a name.
func (f *rawFS) lookedInVain(dir *node) {
	if d := f.knownNamesOf(dir); d != nil && d.worthListing() {
		if f.listInto(d, dir) != nil {
			dir.knownNames.Store(nil)
		}
	}
}

func (d *knownNames) worthListing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.missed++
	return d.missed == listAfter
}

func (f *rawFS) listInto(d *knownNames, dir *node) error {
	fd, err := retryInt(func() (int, error) { return openName(dir.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC) })
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := eachEntry(fd, func(e fuse.DirEntry) { dir.mayHave(e.Name) }); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed = true
	return nil
}

// mayHave notes a name that a directory gets.
func (n *node) mayHave(name string) {
	if d := n.knownNames.Load(); d != nil && !d.add(name) {
		n.knownNames.Store(nil)
	}
}

func (d *knownNames) add(name string) bool {
	key, ok := plainName(name)
	if !ok {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[key] = struct{}{}
	return len(d.names) <= knownNamesMax
}

func (d *knownNames) lacks(name string) bool {
	key, ok := plainName(name)
	if !ok || name[0] == '.' {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, may := d.names[key]
	return d.listed && !may
}

// plainName is a form of a name that is the same for all names which a store may take for one. It is not ok if that is not known.
func plainName(name string) (key string, ok bool) {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= '~' { // "~" is in the short names of Windows
			return "", false
		}
	}
	return strings.ToLower(name), !strings.HasSuffix(name, ".")
}
