package cases

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

var accessModes = map[string]uint32{"f": unix.F_OK, "r": unix.R_OK, "w": unix.W_OK, "x": unix.X_OK, "rw": unix.R_OK | unix.W_OK, "rwx": 7}

func init() {
	register(map[string]command{
		"chmod":  func(_ *Trial, a []string) (string, error) { return "", unix.Chmod(a[0], uint32(octal(a[1]))) },
		"fchmod": func(t *Trial, a []string) (string, error) { return "", unix.Fchmod(t.fd(a[0]), uint32(octal(a[1]))) },
		"lchmod": lchmodCommand,
		"chown": func(_ *Trial, a []string) (string, error) {
			return "", unix.Chown(a[0], int(number(a[1])), int(number(a[2])))
		},
		"lchown": func(_ *Trial, a []string) (string, error) {
			return "", unix.Lchown(a[0], int(number(a[1])), int(number(a[2])))
		},
		"fchown": func(t *Trial, a []string) (string, error) {
			return "", unix.Fchown(t.fd(a[0]), int(number(a[1])), int(number(a[2])))
		},
		"access": func(_ *Trial, a []string) (string, error) { return "", unix.Access(a[0], accessModes[a[1]]) },
		"eaccess": func(_ *Trial, a []string) (string, error) {
			return "", unix.Faccessat2(unix.AT_FDCWD, a[0], accessModes[a[1]], unix.AT_EACCESS)
		},
		"utimens": func(_ *Trial, a []string) (string, error) { return "", timesOf(unix.AT_FDCWD, a[0], a[1], a[2], 0) },
		"lutimens": func(_ *Trial, a []string) (string, error) {
			return "", timesOf(unix.AT_FDCWD, a[0], a[1], a[2], unix.AT_SYMLINK_NOFOLLOW)
		},
		"futimens": func(t *Trial, a []string) (string, error) {
			return "", timesOf(t.fd(a[0]), "", a[1], a[2], unix.AT_EMPTY_PATH)
		},
		"stat": func(_ *Trial, a []string) (string, error) {
			var st unix.Stat_t
			return statNote(&st, unix.Stat(a[0], &st))
		},
		"lstat": func(_ *Trial, a []string) (string, error) {
			var st unix.Stat_t
			return statNote(&st, unix.Lstat(a[0], &st))
		},
		"fstat": func(t *Trial, a []string) (string, error) {
			var st unix.Stat_t
			return statNote(&st, unix.Fstat(t.fd(a[0]), &st))
		},
		"statfs": func(_ *Trial, a []string) (string, error) { var st unix.Statfs_t; return "", unix.Statfs(a[0], &st) },
	})
}

func init() {
	register(map[string]command{
		"setxattr": func(_ *Trial, a []string) (string, error) {
			return "", unix.Setxattr(a[0], a[1], valueOf(a[2]), xattrFlags[arg(a, 3, "")])
		},
		"lsetxattr": func(_ *Trial, a []string) (string, error) {
			return "", unix.Lsetxattr(a[0], a[1], valueOf(a[2]), xattrFlags[arg(a, 3, "")])
		},
		"getxattr": func(_ *Trial, a []string) (string, error) {
			buf := make([]byte, number(arg(a, 2, "65536")))
			n, err := unix.Getxattr(a[0], a[1], buf)
			return fmt.Sprintf("%d %s", n, short(hex.EncodeToString(buf[:min(max(n, 0), len(buf))]))), err
		},
		"listxattr": func(_ *Trial, a []string) (string, error) {
			buf := make([]byte, number(arg(a, 1, "65536")))
			n, err := unix.Listxattr(a[0], buf)
			return fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(buf[:min(max(n, 0), len(buf))]), "\x00", ",")), err
		},
		"removexattr": func(_ *Trial, a []string) (string, error) { return "", unix.Removexattr(a[0], a[1]) },
		"setacl": func(_ *Trial, a []string) (string, error) {
			return "", unix.Setxattr(a[0], aclNames[a[1]], aclOf(a[2]), 0)
		},
		"rmacl":  func(_ *Trial, a []string) (string, error) { return "", unix.Removexattr(a[0], aclNames[a[1]]) },
		"chattr": func(_ *Trial, a []string) (string, error) { return "", chattr(a[0], a[1]) },
		"lsattr": func(_ *Trial, a []string) (string, error) {
			flags, err := getFlags(a[0])
			return fmt.Sprintf("%#x", flags), err
		},
	})
}

func statNote(st *unix.Stat_t, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %04o %d:%d n%d s%d", kinds[st.Mode&unix.S_IFMT], st.Mode&0o7777, st.Uid, st.Gid, st.Nlink, st.Size), nil
}

// lchmodCommand is fchmodat2, which the C library has as lchmod.
func lchmodCommand(_ *Trial, a []string) (string, error) {
	const fchmodat2 = 452
	path, err := unix.BytePtrFromString(a[0])
	if err != nil {
		return "", err
	}
	at := unix.AT_FDCWD
	_, _, errno := unix.Syscall6(fchmodat2, uintptr(at), uintptr(unsafe.Pointer(path)), uintptr(octal(a[1])), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	if errno != 0 {
		return "", errno
	}
	return "", nil
}

// timesOf sets times: "now", "omit" or SECONDS[.NANOSECONDS].
func timesOf(fd int, path, atime, mtime string, flags int) error {
	ts := []unix.Timespec{timeOf(atime), timeOf(mtime)}
	if path == "" && flags == unix.AT_EMPTY_PATH {
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&ts[0])), 0, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}
	return unix.UtimesNanoAt(fd, path, ts, flags)
}

func timeOf(s string) unix.Timespec {
	switch s {
	case "now":
		return unix.Timespec{Nsec: unix.UTIME_NOW}
	case "omit":
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	sec, nsec, _ := strings.Cut(s, ".")
	ts := unix.Timespec{Sec: number(sec)}
	if nsec != "" {
		_, err := fmt.Sscanf(nsec, "%d", &ts.Nsec)
		if err != nil {
			panic(err)
		}
	}
	return ts
}

var xattrFlags = map[string]int{"": 0, "create": unix.XATTR_CREATE, "replace": unix.XATTR_REPLACE, "bad": 1 << 8}

// valueOf is a value as it stands, or as bytes after 0x, or that many after "n".
func valueOf(s string) []byte {
	if rest, is := strings.CutPrefix(s, "0x"); is {
		b, err := hex.DecodeString(rest)
		if err != nil {
			panic(err)
		}
		return b
	}
	return []byte(s)
}

var aclNames = map[string]string{"access": "system.posix_acl_access", "default": "system.posix_acl_default"}

var aclTags = map[string]uint16{"u": 1, "U": 2, "g": 4, "G": 8, "m": 16, "o": 32}

// aclOf makes an ACL of "u:6,U1001:4,g:4,G2000:6,m:6,o:0", in the order the kernel
// wants: owner, users, group, groups, mask, others.
func aclOf(s string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for one := range strings.SplitSeq(s, ",") {
		who, perm, _ := strings.Cut(one, ":")
		id := uint32(0xffffffff)
		if len(who) > 1 {
			id = uint32(number(who[1:]))
		}
		b = binary.LittleEndian.AppendUint16(b, aclTags[who[:1]])
		b = binary.LittleEndian.AppendUint16(b, uint16(number(perm)))
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return b
}

const (
	flagAppend    = 0x20
	flagImmutable = 0x10
	flagNoDump    = 0x40
)

func chattr(path, what string) error {
	flags := map[string]uint32{"+i": flagImmutable, "+a": flagAppend, "+d": flagNoDump, "-": 0}[what]
	return setFlags(path, flags)
}

func getFlags(path string) (uint32, error) {
	var flags uint32
	err := flagsIoctl(path, unix.FS_IOC_GETFLAGS, &flags)
	return flags & (flagAppend | flagImmutable | flagNoDump), err
}

func setFlags(path string, flags uint32) error {
	var old uint32
	if err := flagsIoctl(path, unix.FS_IOC_GETFLAGS, &old); err != nil {
		return err
	}
	flags |= old &^ (flagAppend | flagImmutable | flagNoDump)
	return flagsIoctl(path, unix.FS_IOC_SETFLAGS, &flags)
}

func flagsIoctl(path string, request uintptr, flags *uint32) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // only asked through
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(flags)))
	if errno != 0 {
		return errno
	}
	return nil
}
