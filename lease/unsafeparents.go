package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Exposure is a directory, or a symbolic link, on the way to a lock directory that a user who is not trusted can change. That user
// can put other records in the place of ours.
type Exposure struct {
	Path  string
	Who   string // for people
	Owner bool   // UID owns it; otherwise its mode lets others write
	UID   uint32
}

// String says who can change what.
func (e Exposure) String() string { return fmt.Sprintf("%s can change %s", e.Who, e.Path) }

// Exposures looks at a lock directory, at every directory above it, and at the symbolic links in path. Root and the caller are always
// trusted. A directory that does not exist has no exposures.
func Exposures(path string, trusted ...uint32) ([]Exposure, error) {
	x := exposures{trusted: append(trusted, 0, uint32(os.Geteuid()))}
	if inUserNamespace() {
		x.trusted = append(x.trusted, overflowUID)
	}
	x.links(path)
	err := x.upwards(path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return x.found, err
}

type exposures struct {
	trusted []uint32
	found   []Exposure
}

// upwards looks at the directory and at each one above it. It goes by descriptors: names may be moved meanwhile.
func (x *exposures) upwards(path string) error {
	fd, err := openat(unix.AT_FDCWD, path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	for last := (fileID{}); ; {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return &os.PathError{Op: "stat", Path: path, Err: err}
		}
		if idOf(&st) == last {
			return nil // the root is above itself
		}
		last = idOf(&st)
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err != nil {
			name = path + " or what is above it"
		}
		x.judge(name, &st)
		up, err := openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: name + "/..", Err: err}
		}
		_ = unix.Close(fd)
		fd = up
	}
}

// links looks at the symbolic links in the path, and at who can replace them.
func (x *exposures) links(path string) {
	for at := filepath.Clean(path); at != "/" && at != "."; at = filepath.Dir(at) {
		var st, above unix.Stat_t
		if unix.Lstat(at, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
			continue
		}
		if !slices.Contains(x.trusted, st.Uid) {
			x.add(Exposure{Path: at, Who: fmt.Sprintf("its owner, user %d,", st.Uid), Owner: true, UID: st.Uid})
		}
		if unix.Stat(filepath.Dir(at), &above) == nil {
			x.judge(filepath.Dir(at), &above)
		}
	}
}

// judge looks at one directory. In a sticky one others can make names, but not remove another's.
func (x *exposures) judge(name string, st *unix.Stat_t) {
	if !slices.Contains(x.trusted, st.Uid) {
		x.add(Exposure{Path: name, Who: fmt.Sprintf("its owner, user %d,", st.Uid), Owner: true, UID: st.Uid})
	}
	switch {
	case st.Mode&unix.S_ISVTX != 0:
	case st.Mode&0o002 != 0:
		x.add(Exposure{Path: name, Who: "everybody"})
	case st.Mode&0o020 != 0 && st.Gid != 0: // or a user that an ACL names: the bits are its mask then
		x.add(Exposure{Path: name, Who: fmt.Sprintf("group %d", st.Gid)})
	}
}

func (x *exposures) add(e Exposure) {
	if !slices.Contains(x.found, e) {
		x.found = append(x.found, e)
	}
}

// overflowUID owns the files of users outside of a user namespace (user_namespaces(7)). Those users have power over it.
const overflowUID = 65534

func inUserNamespace() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !slices.Equal(strings.Fields(string(text)), []string{"0", "0", "4294967295"})
}
