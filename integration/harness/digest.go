package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Entry is all that can be known of one name without its inode number.
type Entry struct {
	Mode, UID, GID     uint32
	Size, Nlink        int64
	rdev               uint64
	Mtime, ctime, Atim int64 // ns since 1970
	link, Sum          string
	Xattrs             map[string]string
	flags              uint32 // FS_IOC_GETFLAGS of files and directories
}

// Digest is a tree: every name below a root, the root itself as ".".
type Digest map[string]Entry

// TakeDigest reads a whole tree without changing it, atimes included, as long
// as root owns the files or we are root. Paths below a skipped name are left
// out.
func TakeDigest(t testing.TB, root string, skip ...string) Digest {
	t.Helper()
	d, err := readDigest(root, skip...)
	require.NoError(t, err)
	return d
}

// TakeStats is TakeDigest without contents, xattrs and flags. A change of those shows
// in the time of change; it costs a tenth.
func TakeStats(t testing.TB, root string) Digest {
	t.Helper()
	d, err := walk(root, func(path string) (Entry, error) {
		e, _, err := statEntry(path)
		return e, err
	})
	require.NoError(t, err)
	return d
}

func readDigest(root string, skip ...string) (Digest, error) {
	return walk(root, newReader().entry, skip...)
}

func walk(root string, read func(path string) (Entry, error), skip ...string) (Digest, error) {
	d := Digest{}
	// Not by os.Root: a digest must see exactly the tree that is there. The
	// walk's own directory reads may touch atimes, hence the noatime view.
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if slices.Contains(skip, rel) {
			return filepath.SkipDir
		}
		d[rel], err = read(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
	return d, err
}

// ReadEntry is the entry of one name.
func ReadEntry(path string) (Entry, error) { return newReader().entry(path) }

// reader has the buffers for the entries of a tree: the matrix reads trees of hundreds of
// files thousands of times.
type reader struct{ text, names, value []byte }

func newReader() reader {
	return reader{make([]byte, 64<<10), make([]byte, 64<<10), make([]byte, 64<<10)}
}

func statEntry(path string) (e Entry, mode uint32, err error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return Entry{}, 0, err
	}
	return Entry{Mode: st.Mode, UID: st.Uid, GID: st.Gid, Size: st.Size, Nlink: int64(st.Nlink), rdev: st.Rdev,
		Mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), Atim: st.Atim.Nano()}, st.Mode & unix.S_IFMT, nil
}

func (r reader) entry(path string) (Entry, error) {
	e, mode, err := statEntry(path)
	if err != nil {
		return Entry{}, err
	}
	switch mode {
	case unix.S_IFREG:
		e.Sum, e.flags, err = r.content(path, unix.O_RDONLY)
	case unix.S_IFDIR:
		_, e.flags, err = r.content(path, unix.O_RDONLY|unix.O_DIRECTORY)
	case unix.S_IFLNK:
		var n int
		n, err = unix.Readlink(path, r.text)
		e.link = string(r.text[:max(n, 0)])
	}
	if err != nil {
		return Entry{}, err
	}
	e.Xattrs, err = r.xattrs(path)
	return e, err
}

// content is the hash of a file, and the flags of a file or directory.
func (r reader) content(path string, how int) (sum string, flags uint32, err error) {
	fd, err := unix.Open(path, how|unix.O_NOATIME|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", 0, err
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	flags, err = unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
	if err != nil || how&unix.O_DIRECTORY != 0 {
		return "", flags, err
	}
	hash := sha256.New()
	for {
		n, err := unix.Read(fd, r.text)
		if err != nil || n == 0 {
			return hex.EncodeToString(hash.Sum(nil)[:8]), flags, err
		}
		hash.Write(r.text[:n])
	}
}

func (r reader) xattrs(path string) (map[string]string, error) {
	n, err := unix.Llistxattr(path, r.names)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range strings.Split(strings.TrimRight(string(r.names[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		n, err := unix.Lgetxattr(path, name, r.value)
		if err != nil {
			return nil, fmt.Errorf("xattr %s: %w", name, err)
		}
		all[name] = hex.EncodeToString(r.value[:n])
	}
	return all, nil
}

// Leave is a set of fields that a comparison ignores.
type Leave func(*Entry)

// LeaveTimes is for comparing two trees that were changed at different times.
func LeaveTimes(e *Entry) { e.Mtime, e.ctime, e.Atim = 0, 0, 0 }

// LeaveChangeTimes is for comparing a tree with its view through a mount.
func LeaveChangeTimes(e *Entry) { e.ctime, e.Atim = 0, 0 }

// LeaveDirSizes is for comparing a directory with its view through a mount,
// or with a directory of another history.
func LeaveDirSizes(e *Entry) {
	if e.Mode&unix.S_IFMT == unix.S_IFDIR {
		e.Size = 0
	}
}

// Diff names every difference between two digests, sorted; empty means equal.
func (d Digest) Diff(other Digest, without ...Leave) []string {
	var lines []string
	names := maps.Clone(d)
	maps.Copy(names, other)
	for name := range names {
		a, inA := d[name]
		b, inB := other[name]
		for _, l := range without {
			l(&a)
			l(&b)
		}
		switch {
		case !inA:
			lines = append(lines, fmt.Sprintf("%s: appeared: %+v", name, b))
		case !inB:
			lines = append(lines, fmt.Sprintf("%s: vanished: %+v", name, a))
		case reflect.DeepEqual(a, b): // nearly always, and cheaper than the two texts
		case fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b):
			lines = append(lines, fmt.Sprintf("%s:\n    %+v\n    %+v", name, a, b))
		}
	}
	slices.Sort(lines)
	return lines
}

// Below is the part of a digest under one directory, with names relative to
// it.
func (d Digest) Below(dir string) Digest {
	part := Digest{}
	for name, e := range d {
		if rel, err := filepath.Rel(dir, name); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			part[rel] = e
		}
	}
	return part
}

// notTaken says whether err only means that the tree moved while being read.
func notTaken(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, fs.ErrNotExist)
}
