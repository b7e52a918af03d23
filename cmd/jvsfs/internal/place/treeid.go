package place

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// treeID identifies a directory, over renames and reboots. It has no device number, because that can change at
// a reboot.
type treeID struct {
	Path   string `json:"path"` // where it was seen last
	Inode  uint64 `json:"inode"`
	Born   int64  `json:"born,omitempty"`   // in nanoseconds; 0 where the file system does not say
	Handle string `json:"handle,omitempty"` // name_to_handle_at(2): has the inode's generation
	UUID   string `json:"uuid,omitempty"`   // of the file system
}

// identifyTree looks at the directory at a path.
func identifyTree(path string) (treeID, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) {
		fd, err = unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return treeID{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	return treeIDOf(fd, path)
}

func treeIDOf(fd int, path string) (treeID, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return treeID{}, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	id := treeID{Path: path, Inode: st.Ino, UUID: uuidOf(fd)}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	if h, _, err := unix.NameToHandleAt(fd, "", unix.AT_EMPTY_PATH); err == nil && !isFUSE(fd) {
		id.Handle = fmt.Sprintf("%d:%s", h.Type(), hex.EncodeToString(h.Bytes()))
	}
	return id, nil
}

// isFUSE reports whether a descriptor is on a FUSE file system. There a handle has the number that the server gives to what the kernel
// knows just now: another one when the server starts again, when GlusterFS changes the options of a volume, and on each host.
func isFUSE(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && uint32(st.Type) == unix.FUSE_SUPER_MAGIC
}

// fsIocGetFSUUID is FS_IOC_GETFSUUID (Linux 6.9, linux/fs.h).
const fsIocGetFSUUID = 0x80111500

// uuidOf is the UUID of a file system, "" if it has none or the kernel does not say.
func uuidOf(fd int) string {
	var answer struct {
		length uint8
		uuid   [16]byte
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), fsIocGetFSUUID, uintptr(unsafe.Pointer(&answer)))
	if errno != 0 || int(answer.length) > len(answer.uuid) || answer.uuid == [16]byte{} {
		return ""
	}
	return hex.EncodeToString(answer.uuid[:answer.length])
}

// is reports whether two looks were at the same directory. A field that only one of them has does not count.
// Without a time of birth or the file system's UUID the path decides.
func (t treeID) is(o treeID) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	if t.Inode != o.Inode || differ(t.Handle, o.Handle) || differ(t.UUID, o.UUID) {
		return false
	}
	if t.Born != 0 && o.Born != 0 {
		return t.Born == o.Born
	}
	return t.UUID != "" && o.UUID != "" || t.Path == o.Path
}

// fate is what became of a directory that was seen before.
type fate int

const (
	fateUnknown fate = iota // perhaps on a file system that is not mounted
	fateLives
	fateGone
)

// fateOf looks for a directory: by its handle, if it is on the file system of near, and at its old path.
func (t treeID) fateOf(near string) fate {
	if now, err := identifyTree(t.Path); err == nil && now.is(t) {
		return fateLives
	}
	fd, err := unix.Open(near, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fateUnknown
	}
	defer func() { _ = unix.Close(fd) }()
	h, ok := t.handle()
	if uuid := uuidOf(fd); !ok || t.UUID != uuid {
		return fateUnknown
	}
	gone := fateGone
	if t.UUID == "" {
		gone = fateUnknown // the handle may be of another file system
	}
	there, err := unix.OpenByHandleAt(fd, h, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, unix.ESTALE) || errors.Is(err, unix.ENOENT) {
		return gone
	}
	if err != nil {
		return fateUnknown
	}
	defer func() { _ = unix.Close(there) }()
	var st unix.Stat_t
	if now, err := treeIDOf(there, t.Path); err != nil || unix.Fstat(there, &st) != nil {
		return fateUnknown
	} else if !now.is(t) || st.Nlink == 0 {
		return gone
	}
	return fateLives
}

func (t treeID) handle() (unix.FileHandle, bool) {
	var kind int32
	var text string
	if n, _ := fmt.Sscanf(t.Handle, "%d:%s", &kind, &text); n != 2 {
		return unix.FileHandle{}, false
	}
	raw, err := hex.DecodeString(text)
	return unix.NewFileHandle(kind, raw), err == nil
}

// fateOfAll is the best fate of several directories: one that still exists decides.
func fateOfAll(trees []treeID, near string) (fate, treeID) {
	best, of := fateGone, treeID{}
	for _, t := range slices.Backward(trees) {
		switch f := t.fateOf(near); {
		case f == fateLives:
			return f, t
		case best == fateGone:
			best, of = f, t
		}
	}
	return best, of
}
