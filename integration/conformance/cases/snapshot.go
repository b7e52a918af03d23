package cases

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// entry is what a snapshot remembers of one name. Everything in text must be the
// same natively and through a mount.
type entry struct {
	text  string
	times [3]unix.Timespec // access, modification, change
	atime bool             // reading leaves it alone: not of directories and links
	ino   uint64           // which name stands for it may change
}

type snapshot map[string]entry

// look takes a snapshot of the trial's tree, the directory itself being ".".
func (t *Trial) look() snapshot {
	s := make(snapshot)
	s.add(t.Dir, ".", make(map[uint64]string))
	return s
}

func (s snapshot) add(root, rel string, inodes map[uint64]string) {
	path := filepath.Join(root, rel)
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		s[rel] = entry{text: "lstat " + errnoOf(err)}
		return
	}
	if _, seen := inodes[st.Ino]; !seen {
		inodes[st.Ino] = rel
	}
	kind := st.Mode & unix.S_IFMT
	s[rel] = entry{
		text:  describe(path, &st) + same(rel, inodes[st.Ino]),
		times: [3]unix.Timespec{st.Atim, st.Mtim, st.Ctim},
		atime: kind != unix.S_IFDIR && kind != unix.S_IFLNK,
		ino:   st.Ino,
	}
	if kind == unix.S_IFDIR {
		s.below(root, rel, inodes)
	}
}

func same(rel, first string) string {
	if rel == first {
		return ""
	}
	return " is " + first
}

func (s snapshot) below(root, rel string, inodes map[uint64]string) {
	names, err := namesIn(filepath.Join(root, rel))
	if err != nil {
		s[rel+"/"] = entry{text: "readdir " + errnoOf(err)}
		return
	}
	for _, name := range names {
		s.add(root, filepath.Join(rel, name), inodes)
	}
}

// namesIn reads a directory without touching its access time.
func namesIn(dir string) ([]string, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOATIME|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close() //nolint:errcheck // only read from
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

var kinds = map[uint32]string{
	unix.S_IFREG: "file", unix.S_IFDIR: "dir", unix.S_IFLNK: "link", unix.S_IFIFO: "fifo",
	unix.S_IFSOCK: "sock", unix.S_IFCHR: "chr", unix.S_IFBLK: "blk",
}

func describe(path string, st *unix.Stat_t) string {
	text := fmt.Sprintf("%s %04o %d:%d n%d", kinds[st.Mode&unix.S_IFMT], st.Mode&0o7777, st.Uid, st.Gid, st.Nlink)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		text += fmt.Sprintf(" s%d %s %s", st.Size, fullness(st), digestOf(path, st.Size))
	case unix.S_IFLNK:
		target, err := os.Readlink(path)
		text += fmt.Sprintf(" s%d -> %s %s", st.Size, short(target), errnoOf(err))
	case unix.S_IFCHR, unix.S_IFBLK:
		text += fmt.Sprintf(" %d,%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	}
	return text + attributes(path)
}

// fullness words st_blocks: the exact number varies natively, with what the file
// system keeps for itself and when it writes back.
func fullness(st *unix.Stat_t) string {
	const slack = 64 << 10
	used := st.Blocks * 512
	switch {
	case used == 0:
		return "empty"
	case used > st.Size+slack:
		return "reserved"
	case used+4096 < st.Size:
		return "holes"
	}
	return "full"
}

func short(s string) string {
	if len(s) <= 40 {
		return s
	}
	return fmt.Sprintf("%s...%d:%x", s[:8], len(s), sha256.Sum256([]byte(s)))
}

// digestOf is empty for an empty file and for one too large to be read each time.
func digestOf(path string, size int64) string {
	if size == 0 || size > 1<<20 {
		return ""
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOATIME|unix.O_CLOEXEC, 0)
	if err != nil {
		return errnoOf(err)
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	buf := make([]byte, size+1)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return errnoOf(err)
	}
	return fmt.Sprintf("%d=%.6x", n, sha256.Sum256(buf[:n]))
}

func attributes(path string) string {
	list := make([]byte, 8<<10)
	n, err := unix.Llistxattr(path, list)
	if err != nil {
		return " xattrs " + errnoOf(err)
	}
	var all []string
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:n]), "\x00"), "\x00") {
		if name == "" || name == "security.selinux" {
			continue
		}
		value := make([]byte, 8<<10)
		n, err := unix.Lgetxattr(path, name, value)
		all = append(all, fmt.Sprintf(" %s=%x%s", name, value[:max(n, 0)], strings.TrimPrefix(errnoOf(err), "ok")))
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// changes words what became of a tree. Access times count unless the command reads.
func (s snapshot) changes(next snapshot, atime bool) string {
	all := maps.Clone(s)
	maps.Copy(all, next)
	known := s.byInode()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, before := s[name]
		is, after := next[name]
		d := is.since(known, atime)
		if was.text != is.text {
			d = " " + is.text + d
		}
		switch {
		case !after:
			out = append(out, "-"+short(name))
		case !before:
			out = append(out, "+"+short(name)+d)
		case d != "":
			out = append(out, "~"+short(name)+d)
		}
	}
	return strings.Join(out, ", ")
}

// byInode finds an inode again that has got another name.
func (s snapshot) byInode() map[uint64]entry {
	all := make(map[uint64]entry, len(s))
	for _, e := range s {
		all[e.ino] = e
	}
	return all
}

// since tells which times of an inode have changed; of a new one, those that are not
// of now.
func (e entry) since(known map[uint64]entry, atime bool) string {
	was, old := known[e.ino]
	d := ""
	for i, what := range []string{" atime", " mtime", " ctime"} {
		p := past(e.times[i])
		if i == 0 && (!atime || !e.atime) || old && e.times[i] == was.times[i] || !old && p == "" {
			continue
		}
		d += what + p
	}
	return d
}

// past is a time that was set on purpose; what the clock gave is no note.
func past(ts unix.Timespec) string {
	if age := time.Since(time.Unix(ts.Unix())); age < time.Hour && age > -time.Hour {
		return ""
	}
	return fmt.Sprintf("=%d.%09d", ts.Sec, ts.Nsec)
}

// tick waits until the clock that file systems take their stamps from moves on: two
// changes within one tick may leave the same stamp.
func tick() {
	now := func() (ts unix.Timespec) {
		_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts)
		return ts
	}
	for start := now(); now() == start; {
		time.Sleep(200 * time.Microsecond)
	}
}
