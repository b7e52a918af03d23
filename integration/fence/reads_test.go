package fence

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// readsDir holds what the read checks look at.
const readsDir = "reads"

func prepareReads(t testing.TB, tree string) {
	t.Helper()
	dir := filepath.Join(tree, readsDir)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	harness.WithLink("link", "file")(t, dir)
	require.NoError(t, unix.Setxattr(filepath.Join(dir, "file"), "user.tag", []byte("value"), 0))
}

// readChecks is what must work whoever holds the lease: reading never waits
// and is never refused.
func readChecks() map[string]func(*harness.Box) error {
	return map[string]func(*harness.Box) error{
		"open and read": func(b *harness.Box) error {
			return b.With("file", unix.O_RDONLY, 0, func(fd int) error { return sameBody(harness.ReadAll(fd)) })
		},
		"open O_CREAT of an existing file, read-only": func(b *harness.Box) error {
			return b.With("file", unix.O_RDONLY|unix.O_CREAT, 0o644, func(fd int) error { return sameBody(harness.ReadAll(fd)) })
		},
		"mmap": func(b *harness.Box) error {
			return b.With("file", unix.O_RDONLY, 0, func(fd int) error { return sameBody(mapped(fd, unix.MAP_SHARED)) })
		},
		"mmap private": func(b *harness.Box) error {
			return b.With("file", unix.O_RDONLY, 0, func(fd int) error { return sameBody(mapped(fd, unix.MAP_PRIVATE)) })
		},
		"sendfile out":             copyOut(func(in, out int) (int, error) { return unix.Sendfile(out, in, nil, 20000) }),
		"splice out":               spliceOut,
		"copy_file_range out":      copyRangeOut,
		"readdir":                  func(b *harness.Box) error { return b.ListNames(b.At(".")) },
		"stat":                     func(b *harness.Box) error { var st unix.Stat_t; return unix.Stat(b.At("file"), &st) },
		"lstat":                    func(b *harness.Box) error { var st unix.Stat_t; return unix.Lstat(b.At("link"), &st) },
		"statfs":                   func(b *harness.Box) error { var st unix.Statfs_t; return unix.Statfs(b.At("."), &st) },
		"access":                   func(b *harness.Box) error { return unix.Access(b.At("file"), unix.R_OK) },
		"readlink":                 readLinkCheck,
		"getxattr":                 getXattrCheck,
		"listxattr":                func(b *harness.Box) error { _, err := unix.Listxattr(b.At("file"), make([]byte, 4096)); return err },
		"lseek SEEK_DATA":          onReadFile(func(fd int) error { _, err := unix.Seek(fd, 0, unix.SEEK_DATA); return err }),
		"FS_IOC_GETFLAGS":          onReadFile(func(fd int) error { _, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS); return err }),
		"fsync of a read handle":   onReadFile(unix.Fsync),
		"chdir by descriptor":      func(b *harness.Box) error { return b.With("sub", unix.O_PATH, 0, unix.Fchdir) },
		"a name that is not there": func(b *harness.Box) error { return notThere(unix.Access(b.At("none"), unix.F_OK)) },
	}
}

func init() { harness.ActorOps["reads"] = opReads }

// opReads runs every read check in the tree Path and names the first that
// fails in Note.
func opReads(s *harness.Stage, c harness.Command) error {
	b := harness.NewBox(filepath.Join(c.Path, readsDir))
	for name, check := range readChecks() {
		if err := check(b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	// Not to stay with the working directory inside a mount that is to go.
	return unix.Chdir("/")
}

func onReadFile(f func(int) error) func(*harness.Box) error {
	return func(b *harness.Box) error { return b.With("file", unix.O_RDONLY, 0, f) }
}

var errOtherContent = errors.New("EOTHERCONTENT")

func sameBody(got []byte, err error) error {
	if err == nil && !bytes.Equal(got, harness.Body()) {
		return errOtherContent
	}
	return err
}

func mapped(fd, flags int) ([]byte, error) {
	m, err := unix.Mmap(fd, 0, len(harness.Body()), unix.PROT_READ, flags)
	if err != nil {
		return nil, err
	}
	text := bytes.Clone(m)
	return text, unix.Munmap(m)
}

// copyOut moves the file's content to an anonymous file outside of any mount.
func copyOut(move func(in, out int) (int, error)) func(*harness.Box) error {
	return onReadFile(func(in int) error {
		out, err := unix.MemfdCreate("out", unix.MFD_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(out)
		if _, err := move(in, out); err != nil {
			return err
		}
		text := make([]byte, 20000)
		n, err := unix.Pread(out, text, 0)
		return sameBody(text[:max(n, 0)], err)
	})
}

func spliceOut(b *harness.Box) error {
	return onReadFile(func(in int) error {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		defer unix.Close(p[0])
		defer unix.Close(p[1])
		n, err := unix.Splice(in, nil, p[1], nil, 4096, 0)
		if err == nil && n == 0 {
			return errOtherContent
		}
		return err
	})(b)
}

// copyRangeOut copies out of the tree. Between two file systems the kernel
// says EXDEV whoever holds what, and programs fall back to reading; anything
// else, a refusal above all, is wrong.
func copyRangeOut(b *harness.Box) error {
	err := copyOut(func(in, out int) (int, error) { return unix.CopyFileRange(in, nil, out, nil, 20000, 0) })(b)
	if errors.Is(err, unix.EXDEV) {
		return nil
	}
	return err
}

func readLinkCheck(b *harness.Box) error {
	buf := make([]byte, 100)
	n, err := unix.Readlink(b.At("link"), buf)
	if err == nil && string(buf[:n]) != "file" {
		return errOtherContent
	}
	return err
}

func getXattrCheck(b *harness.Box) error {
	buf := make([]byte, 100)
	n, err := unix.Getxattr(b.At("file"), "user.tag", buf)
	if err == nil && string(buf[:n]) != "value" {
		return errOtherContent
	}
	return err
}

func notThere(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return fmt.Errorf("no ENOENT: %w", errors.Join(err, errOtherContent))
}
