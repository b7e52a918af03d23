package fusefs

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/tree"
)

// forEverybody are the permissions of a directory whose names everybody may see.
const forEverybody = unix.S_IROTH | unix.S_IXOTH

// Wrote is the name of what is written, relative to its worktree's root: of the inode behind a descriptor of this
// file system, or of a name in the directory behind it. It is for people, who see it whoever they are. So it is
// empty if a directory on the way is not open to everybody, or the name is not known.
func (s *Server) Wrote(fd int, name string) string {
	path, ok := s.fs.source.Place(fd)
	if ok && name != "" {
		path = tree.Join(path, name)
	}
	w := s.fs.exempt.Where(path, ok)
	if len(w.Names) == 0 || w.Names[0] == "" || !s.fs.seenByAll(path) {
		return ""
	}
	return w.Names[0]
}

// seenByAll reports whether everybody may list each directory above a path below the source.
func (f *rawFS) seenByAll(path string) bool {
	for i, c := range path {
		if c != '/' {
			continue
		}
		var st unix.Stat_t
		dir := "." + path[:i]
		if unix.Fstatat(f.root.fd, dir, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&forEverybody != forEverybody {
			return false
		}
	}
	return true
}
