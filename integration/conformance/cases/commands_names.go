package cases

import (
	"strings"

	"golang.org/x/sys/unix"
)

var renameFlags = map[string]int{
	"0": 0, "noreplace": unix.RENAME_NOREPLACE, "exchange": unix.RENAME_EXCHANGE, "whiteout": unix.RENAME_WHITEOUT, "bad": 1 << 10,
}

var nodeKinds = map[string]uint32{"f": unix.S_IFREG, "p": unix.S_IFIFO, "s": unix.S_IFSOCK, "c": unix.S_IFCHR, "b": unix.S_IFBLK, "d": unix.S_IFDIR, "0": 0}

func init() {
	register(map[string]command{
		"mkdir": func(_ *Trial, a []string) (string, error) {
			return "", unix.Mkdir(a[0], uint32(octal(arg(a, 1, "0755"))))
		},
		"rmdir":   func(_ *Trial, a []string) (string, error) { return "", unix.Rmdir(a[0]) },
		"unlink":  func(_ *Trial, a []string) (string, error) { return "", unix.Unlink(a[0]) },
		"symlink": func(_ *Trial, a []string) (string, error) { return "", unix.Symlink(a[0], a[1]) },
		"link":    func(_ *Trial, a []string) (string, error) { return "", unix.Link(a[0], a[1]) },
		"linkto": func(_ *Trial, a []string) (string, error) {
			return "", unix.Linkat(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.AT_SYMLINK_FOLLOW)
		},
		"linkfd": func(t *Trial, a []string) (string, error) {
			return "", unix.Linkat(t.fd(a[0]), "", unix.AT_FDCWD, a[1], unix.AT_EMPTY_PATH)
		},
		"mkfifo": func(_ *Trial, a []string) (string, error) {
			return "", unix.Mkfifo(a[0], uint32(octal(arg(a, 1, "0644"))))
		},
		"mknod":    mknodCommand,
		"bind":     bindCommand,
		"rename":   renameCommand,
		"readlink": readlinkCommand,
		"readdir": func(_ *Trial, a []string) (string, error) {
			names, err := namesIn(a[0])
			return strings.Join(names, ","), err
		},
	})
}

// renameCommand is "rename FROM TO [FLAGS]"; without flags it is the plain call.
func renameCommand(_ *Trial, a []string) (string, error) {
	if len(a) == 2 {
		return "", unix.Rename(a[0], a[1])
	}
	return "", unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], uint(flagsOf(a[2], renameFlags)))
}

// mknodCommand is "mknod PATH KIND MODE [MAJOR MINOR]".
func mknodCommand(_ *Trial, a []string) (string, error) {
	dev := unix.Mkdev(uint32(number(arg(a, 3, "0"))), uint32(number(arg(a, 4, "0"))))
	return "", unix.Mknod(a[0], nodeKinds[a[1]]|uint32(octal(a[2])), int(dev))
}

func bindCommand(_ *Trial, a []string) (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	return "", unix.Bind(fd, &unix.SockaddrUnix{Name: a[0]})
}

func readlinkCommand(_ *Trial, a []string) (string, error) {
	buf := make([]byte, number(arg(a, 1, "4096")))
	n, err := unix.Readlink(a[0], buf)
	return short(string(buf[:max(n, 0)])), err
}
