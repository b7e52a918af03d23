package hardlink

import (
	"cmp"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// scan reads the source once. It notes every inode with several names, and the rules of these names.
type scan struct {
	x      *Index
	until  time.Time
	wanted map[tree.Key]bool // noted in any case
	found  map[tree.Key]found
	looked uint64 // entries
}

// found is what a walk has found about one inode.
type found struct {
	nlink uint64
	ctime int64
	rules []*layout.Rule
}

// remembered bounds what is remembered of files that nobody has asked for.
const remembered = 1 << 17

var errTooLong = errors.New("the search took too long")

func (w *scan) run() error {
	root := w.x.Layout().Root()
	return w.descend(w.x.Tree.Root(), root.Role, root.Own)
}

// descend reads one directory. by is the rule of everything below that has none of its own.
func (w *scan) descend(dir int, at layout.Role, by *layout.Rule) error {
	fd, err := w.x.Tree.Reopen(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOATIME)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, 32<<10)
	for {
		if time.Now().After(w.until) {
			return errTooLong
		}
		select {
		case <-w.x.stop:
			return errClosed
		default:
		}
		n, err := tree.Getdents(fd, buf)
		if err != nil || n == 0 {
			return err
		}
		if err := w.entries(fd, buf[:n], at, by); err != nil {
			return err
		}
	}
}

func (w *scan) entries(fd int, buf []byte, at layout.Role, by *layout.Rule) error {
	for len(buf) > 0 {
		e, l := tree.ParseDirent(buf)
		if l == 0 {
			return nil
		}
		buf = buf[l:]
		if e.Name == "." || e.Name == ".." {
			continue
		}
		w.looked++
		there := w.x.Entry(at, e.Name)
		if e.Kind != unix.S_IFDIR && e.Kind != 0 { // 0: the file system does not say
			w.note(fd, e.Name, cmp.Or(there.Inode(false), by))
			continue
		}
		if err := w.enter(fd, e.Name, there, by); err != nil {
			return err
		}
	}
	return nil
}

// note looks at a file, unless it has just been removed.
func (w *scan) note(dir int, name string, r *layout.Rule) {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		w.noteInode(&st, r)
	}
}

func (w *scan) noteInode(st *unix.Stat_t, r *layout.Rule) {
	k := tree.KeyOf(st)
	was, seen := w.found[k]
	if st.Nlink <= 1 && !seen || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return
	}
	if !seen && !w.wanted[k] && len(w.found) >= remembered {
		return
	}
	w.found[k] = found{nlink: tree.Nlink(st), ctime: changed(st), rules: layout.AddRule(was.rules, r)}
}

// enter descends into a directory, unless it has just been removed.
func (w *scan) enter(fd int, name string, there layout.Entry, by *layout.Rule) error {
	sub, st, err := tree.Pin(fd, name)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(sub) }()
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		w.noteInode(&st, cmp.Or(there.Inode(false), by))
		return nil
	}
	if e, ok := w.x.RootAt(tree.KeyOf(&st)); ok {
		there = e
	}
	return w.descend(sub, there.Role, cmp.Or(there.Inode(true), by))
}
