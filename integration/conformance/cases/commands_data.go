package cases

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os/exec"

	"golang.org/x/sys/unix"
)

var fallocModes = map[string]uint32{
	"0": 0, "keep": unix.FALLOC_FL_KEEP_SIZE, "punch": unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE,
	"zero": unix.FALLOC_FL_ZERO_RANGE, "zerokeep": unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE,
	"collapse": unix.FALLOC_FL_COLLAPSE_RANGE, "insert": unix.FALLOC_FL_INSERT_RANGE, "unshare": unix.FALLOC_FL_UNSHARE_RANGE,
	"punchgrow": unix.FALLOC_FL_PUNCH_HOLE,
}

var whences = map[string]int{"set": 0, "cur": 1, "end": 2, "data": unix.SEEK_DATA, "hole": unix.SEEK_HOLE}

func init() {
	register(map[string]command{
		"truncate":  func(_ *Trial, a []string) (string, error) { return "", unix.Truncate(a[0], number(a[1])) },
		"ftruncate": func(t *Trial, a []string) (string, error) { return "", unix.Ftruncate(t.fd(a[0]), number(a[1])) },
		"write": func(t *Trial, a []string) (string, error) {
			return counted(unix.Write(t.fd(a[0]), pattern(int(number(a[1])), 3)))
		},
		"pwrite": func(t *Trial, a []string) (string, error) {
			return counted(unix.Pwrite(t.fd(a[0]), pattern(int(number(a[2])), 5), number(a[1])))
		},
		"read":   func(t *Trial, a []string) (string, error) { return readNote(t, a[0], int(number(a[1])), -1) },
		"pread":  func(t *Trial, a []string) (string, error) { return readNote(t, a[0], int(number(a[2])), number(a[1])) },
		"direct": directCommand,
		"lseek": func(t *Trial, a []string) (string, error) {
			off, err := unix.Seek(t.fd(a[0]), number(a[1]), whences[a[2]])
			return fmt.Sprint(off), err
		},
		"fallocate": func(t *Trial, a []string) (string, error) {
			return "", unix.Fallocate(t.fd(a[0]), fallocModes[a[1]], number(a[2]), number(a[3]))
		},
		"fsync":     func(t *Trial, a []string) (string, error) { return "", unix.Fsync(t.fd(a[0])) },
		"fdatasync": func(t *Trial, a []string) (string, error) { return "", unix.Fdatasync(t.fd(a[0])) },
		"syncfs":    func(t *Trial, a []string) (string, error) { return "", unix.Syncfs(t.fd(a[0])) },
		"copy":      copyCommand,
		"sendfile": func(t *Trial, a []string) (string, error) {
			return counted(unix.Sendfile(t.fd(a[1]), t.fd(a[0]), nil, int(number(a[2]))))
		},
		"splice":   spliceCommand,
		"mapwrite": mapWriteCommand,
		"mapread":  mapReadCommand,
		"setfl": func(t *Trial, a []string) (string, error) {
			_, err := unix.FcntlInt(uintptr(t.fd(a[0])), unix.F_SETFL, flagsOf(a[1], openFlags))
			return "", err
		},
		"getfl": func(t *Trial, a []string) (string, error) {
			n, err := unix.FcntlInt(uintptr(t.fd(a[0])), unix.F_GETFL, 0)
			return fmt.Sprintf("%#o", n), err
		},
		"run": runCommand,
	})
}

func readNote(t *Trial, handle string, n int, off int64) (string, error) {
	buf := make([]byte, n)
	var got int
	var err error
	if off < 0 {
		got, err = unix.Read(t.fd(handle), buf)
	} else {
		got, err = unix.Pread(t.fd(handle), buf, off)
	}
	return fmt.Sprintf("%d=%.6x", got, sha256.Sum256(buf[:max(got, 0)])), err
}

// directCommand is "direct HANDLE read|write OFFSET SIZE SHIFT": a transfer whose
// memory is SHIFT bytes off the alignment that O_DIRECT wants.
func directCommand(t *Trial, a []string) (string, error) {
	n, shift := int(number(a[3])), int(number(a[4]))
	mem, err := unix.Mmap(-1, 0, n+shift+4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Munmap(mem) }()
	buf := mem[shift : shift+n]
	if a[1] == "write" {
		copy(buf, pattern(n, 9))
		return counted(unix.Pwrite(t.fd(a[0]), buf, number(a[2])))
	}
	got, err := unix.Pread(t.fd(a[0]), buf, number(a[2]))
	return fmt.Sprintf("%d=%.6x", got, sha256.Sum256(buf[:max(got, 0)])), err
}

// copyCommand is "copy FROM OFFSET TO OFFSET SIZE".
func copyCommand(t *Trial, a []string) (string, error) {
	from, to := number(a[1]), number(a[3])
	return counted(unix.CopyFileRange(t.fd(a[0]), &from, t.fd(a[2]), &to, int(number(a[4])), 0))
}

// spliceCommand is "splice HANDLE SIZE": writes from a pipe.
func spliceCommand(t *Trial, a []string) (string, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return "", err
	}
	defer unix.Close(p[0]) //nolint:errcheck // only read from
	_, err := unix.Write(p[1], pattern(int(number(a[1])), 11))
	_ = unix.Close(p[1])
	if err != nil {
		return "", err
	}
	n, err := unix.Splice(p[0], nil, t.fd(a[0]), nil, int(number(a[1])), 0)
	return fmt.Sprint(n), err
}

// mapWriteCommand is "mapwrite HANDLE OFFSET SIZE [async|none]": stores through a
// shared mapping and synchronises it.
func mapWriteCommand(t *Trial, a []string) (_ string, err error) {
	off, n := number(a[1]), int(number(a[2]))
	page := off &^ 4095
	m, err := unix.Mmap(t.fd(a[0]), page, int(off-page)+n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return "", err
	}
	defer func() { // also after a store that was answered with a signal
		if e := unix.Munmap(m); err == nil {
			err = e
		}
	}()
	copy(m[off-page:], pattern(n, 13))
	switch arg(a, 3, "sync") {
	case "sync":
		err = unix.Msync(m, unix.MS_SYNC)
	case "async":
		err = unix.Msync(m, unix.MS_ASYNC)
	}
	return "", err
}

func mapReadCommand(t *Trial, a []string) (string, error) {
	off, n := number(a[1]), int(number(a[2]))
	m, err := unix.Mmap(t.fd(a[0]), off, n, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Munmap(m) }()
	return fmt.Sprintf("%.6x", sha256.Sum256(m)), nil
}

// runCommand is "run PROGRAM [ARG...]": its output is the note.
func runCommand(_ *Trial, a []string) (string, error) {
	cmd := exec.Command(a[0], a[1:]...)
	out, err := cmd.CombinedOutput()
	return string(bytes.ReplaceAll(bytes.TrimSpace(out), []byte("\n"), []byte("/"))), err
}
