package exempt

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// searchMax is how many entries are searched before a caller without the lease moves a directory.
const searchMax = 50_000

// searchDepth bounds the descriptors of the search.
const searchDepth = 100

var errTooMany = errors.New("too many entries to look through")

// reservedBelow adds the reserved names below a directory (.git, .jvs), as they are now and as they
// will be.
func reservedBelow(w *gate.Where, dir int, name, at, then string) error {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NOATIME|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s := reservedSearch{left: searchMax}
	err = s.through(fd, "", searchDepth)
	for _, found := range s.found {
		w.Names = append(w.Names, at+found, then+found)
	}
	return err
}

// reservedSearch searches for reserved names.
type reservedSearch struct {
	found []string // relative to the start, with a slash in front
	left  int      // entries to search
}

// through searches a directory and those below. It closes fd.
func (s *reservedSearch) through(fd int, at string, depth int) error {
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, 32<<10)
	for {
		n, err := tree.Getdents(fd, buf)
		if err != nil || n == 0 {
			return err
		}
		for rest := buf[:n]; len(rest) > 0; {
			e, l := tree.ParseDirent(rest)
			if l == 0 {
				return unix.EIO
			}
			rest = rest[l:]
			if e.Name == "." || e.Name == ".." {
				continue
			}
			if err = s.entry(fd, at+"/"+e.Name, e.Name, e.Kind, depth); err != nil {
				return err
			}
		}
	}
}

func (s *reservedSearch) entry(dir int, at, name string, kind uint32, depth int) error {
	if s.left--; s.left < 0 || depth == 0 {
		return errTooMany
	}
	if gate.Reserved(name) {
		s.found = append(s.found, at)
	}
	if kind != unix.S_IFDIR && kind != 0 { // 0: the file system does not say (DT_UNKNOWN)
		return nil
	}
	sub, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NOATIME|unix.O_CLOEXEC, 0)
	if err == unix.ENOTDIR || err == unix.ELOOP || err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	return s.through(sub, at, depth-1)
}
