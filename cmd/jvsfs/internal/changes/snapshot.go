package changes

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Tree is a directory as it was when Take looked at it.
type Tree struct {
	root int      // a descriptor of the directory; the caller's
	file *os.File // the entries in the order of comparePaths, in a file without a name
}

// Take looks at the tree below the directory root, which must stay open. It calls seen with the number of names
// from time to time; seen may be nil.
func Take(root int, seen func(int)) (_ *Tree, err error) {
	f, err := os.CreateTemp("", "jvsfs-run-")
	if err != nil {
		return nil, err
	}
	t := &Tree{root: root, file: f}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	out := spool{w: bufio.NewWriterSize(f, 1<<20)}
	if err := walk(root, counted(seen, out.write)); err != nil {
		return nil, err
	}
	return t, out.w.Flush()
}

// Close frees the file.
func (t *Tree) Close() error { return t.file.Close() }

// seenEvery is how many names pass between two calls of a counting function.
const seenEvery = 1000

func counted(seen func(int), visit func(Entry) error) func(Entry) error {
	n := 0
	return func(e Entry) error {
		if n++; seen != nil && n%seenEvery == 0 {
			seen(n)
		}
		return visit(e)
	}
}

// spool writes entries. A path is written without the beginning that it has in common with the one before.
type spool struct {
	w    *bufio.Writer
	last string
	buf  []byte
}

func (s *spool) write(e Entry) error {
	common := 0
	for common < min(len(s.last), len(e.Path)) && s.last[common] == e.Path[common] {
		common++
	}
	s.last = e.Path
	b := binary.AppendUvarint(s.buf[:0], uint64(common))
	b = binary.AppendUvarint(b, uint64(len(e.Path)-common))
	b = append(b, e.Path[common:]...)
	for _, v := range []uint64{uint64(e.Mode), uint64(e.UID), uint64(e.GID), e.Inode, e.Size, uint64(e.MTime), uint64(e.CTime), uint64(e.BTime)} {
		b = binary.AppendUvarint(b, v)
	}
	s.buf = b
	_, err := s.w.Write(b)
	return err
}

// unspool reads what a spool has written.
type unspool struct {
	r    *bufio.Reader
	last string
}

func (t *Tree) entries() (*unspool, error) {
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return &unspool{r: bufio.NewReaderSize(t.file, 1<<20)}, nil
}

var errSpool = errors.New("the list of files from before cannot be read")

// next is the next entry, or io.EOF.
func (u *unspool) next() (e Entry, err error) {
	common, err := binary.ReadUvarint(u.r)
	if err != nil {
		return e, err
	}
	n, err := binary.ReadUvarint(u.r)
	if err != nil || common > uint64(len(u.last)) || n > 1<<20 {
		return e, errors.Join(errSpool, err)
	}
	rest := make([]byte, n)
	if _, err := io.ReadFull(u.r, rest); err != nil {
		return e, errors.Join(errSpool, err)
	}
	e.Path = u.last[:common] + string(rest)
	u.last = e.Path
	var v [8]uint64
	for i := range v {
		if v[i], err = binary.ReadUvarint(u.r); err != nil {
			return e, errors.Join(errSpool, err)
		}
	}
	e.Mode, e.UID, e.GID, e.Inode, e.Size = uint32(v[0]), uint32(v[1]), uint32(v[2]), v[3], v[4]
	e.MTime, e.CTime, e.BTime = int64(v[5]), int64(v[6]), int64(v[7])
	return e, nil
}

// OpenRoot opens a directory for Take, by a path without symbolic links.
func OpenRoot(path string) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
