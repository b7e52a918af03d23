package hardlink

import (
	"errors"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Names is what is known of one file's names. The zero value is nothing. All methods may be called at the same time.
type Names struct {
	areas    atomic.Pointer[areas]
	changing atomic.Int32  // mutations of the inode in flight through the mount
	changes  atomic.Uint64 // all mutations so far
}

// areas are the rules of a file with several names. All its names were searched for them.
type areas struct {
	nlink uint64 // when they were searched
	moves uint64
	rules []*layout.Rule
	ctime atomic.Int64 // at that time, or after later changes through the mount
	void  atomic.Bool  // something else has changed the file since
}

// File is one that the kernel knows.
type File struct {
	Key   tree.Key
	FD    int // O_PATH
	Names *Names
}

// tries is how many walks are made for a file whose names change meanwhile.
const tries = 3

// errUnknown says that the names could not be found out. So the file is not written.
var errUnknown = errors.New("the file may have names that are not known")

// Rules are those of the names that were searched for; nil: none was needed, or they are not known.
func (n *Names) Rules() []*layout.Rule {
	if a := n.areas.Load(); a != nil {
		return a.rules
	}
	return nil
}

// Known reports whether all names of a file are known that matter. If another program changes
// them, the number of links or the change time differs. Changes through the mount also set the
// change time, but they announce themselves (Begin). An error is an errno.
func (x *Index) Known(f File) (bool, error) {
	n := f.Names
	st, err := attributes(f.FD)
	if err != nil {
		return false, err
	}
	if st.Nlink <= 1 {
		n.areas.Store(nil)
		return true, nil
	}
	moves := x.Moves()
	if a := n.areas.Load(); a != nil && a.nlink == tree.Nlink(&st) && a.moves == moves && !a.void.Load() &&
		(a.ctime.Load() == changed(&st) || n.changing.Load() > 0) {
		return true, nil
	}
	found, ok := x.lookUp(f.Key, moves)
	if ok = ok && found.nlink == tree.Nlink(&st) && found.ctime == changed(&st); ok {
		n.learn(found, moves)
	}
	return ok, nil
}

func (n *Names) learn(by found, moves uint64) {
	a := &areas{nlink: by.nlink, moves: moves, rules: by.rules}
	a.ctime.Store(by.ctime)
	n.areas.Store(a)
}

// Learn makes sure that every name of a file is known before the file is judged. It may walk
// through the whole source. The caller has the permission to change the file, and the known rules
// have admitted it. An error is an errno (EINTR: the caller is being killed), or says that the names cannot be known.
func (x *Index) Learn(f File, who gate.Request) error {
	for range tries {
		if known, err := x.Known(f); known || err != nil {
			return err
		}
		err := x.search(f, who)
		if errors.Is(err, errCallerKilled) {
			return syscall.EINTR
		}
		if err != nil {
			x.Unknown(f.Key.Ino, err)
			return errUnknown
		}
	}
	if known, err := x.Known(f); known || err != nil {
		return err
	}
	return errUnknown // the names change all the time
}

// search makes one walk. The result counts only if nobody but this mount has changed the file
// meanwhile: otherwise the walk may have missed a name that moved.
func (x *Index) search(f File, who gate.Request) error {
	n, changes := f.Names, f.Names.changes.Load()
	before, err := attributes(f.FD)
	if err != nil {
		return err
	}
	by, moves, err := x.walk(f.Key, who)
	if err != nil {
		return err
	}
	after, err := attributes(f.FD)
	if err != nil {
		return err
	}
	ours := n.changes.Load() != changes || n.changing.Load() > 0
	if before.Nlink == after.Nlink && (changed(&before) == changed(&after) || ours) {
		n.learn(found{nlink: tree.Nlink(&after), ctime: changed(&after), rules: by.rules}, moves)
	}
	return nil
}

// Begin and End enclose every mutation of a file's content or attributes. So it is not
// taken for a change by another program. For a file with one name they cost nothing.
func (n *Names) Begin(fd int) {
	changes, alone := n.changes.Add(1), n.changing.Add(1) == 1
	a := n.areas.Load()
	if a == nil || !alone {
		return
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && changed(&st) != a.ctime.Load() && n.changes.Load() == changes {
		a.void.Store(true) // somebody else has changed it before
	}
}

// End ends what Begin has begun.
func (n *Names) End(fd int) {
	if a := n.areas.Load(); a != nil {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil {
			a.ctime.Store(changed(&st))
		}
	}
	n.changing.Add(-1)
}

// Linked notes a name that a file has got through the mount. It is under the same rule as all
// others.
func (x *Index) Linked(f File, r *layout.Rule) {
	var st unix.Stat_t
	a, moves := f.Names.areas.Load(), x.Moves()
	known := a == nil || a.moves == moves && !a.void.Load()
	if !known || unix.Fstat(f.FD, &st) != nil {
		return
	}
	if a == nil && st.Nlink == 2 || a != nil && a.nlink+1 == tree.Nlink(&st) {
		f.Names.learn(found{nlink: tree.Nlink(&st), ctime: changed(&st), rules: []*layout.Rule{r}}, moves)
	}
}

func attributes(fd int) (st unix.Stat_t, err error) {
	for {
		if err = unix.Fstat(fd, &st); !errors.Is(err, unix.EINTR) {
			return st, err
		}
	}
}

// changed returns an inode's change time in nanoseconds.
func changed(st *unix.Stat_t) int64 { return st.Ctim.Nano() }
