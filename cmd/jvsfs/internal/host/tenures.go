package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/tenure"
)

// Tenures keeps who holds which lock of other programs, for a daemon that goes on after a killed one. It lies in the run
// directory: memory on most machines, and gone after a boot, as every holder is. One daemon at a time has the tenures of a
// source: two would not know of each other's.
type Tenures struct {
	dir  string
	lock *os.File
}

// ErrTenuresInUse says that another daemon has the tenures of the source.
var ErrTenuresInUse = errors.New("another mount of the same directory has rules for lock files")

const tenureSuffix = ".tenure"

// OpenTenures opens those of the source behind a descriptor.
func OpenTenures(source int) (*Tenures, error) {
	var st unix.Stat_t
	if err := unix.Fstat(source, &st); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	run := RunDir()
	if err := os.MkdirAll(run, runMode()); err != nil {
		return nil, err
	}
	dir := filepath.Join(run, "tenures-"+strconv.FormatUint(st.Dev, 16)+"-"+strconv.FormatUint(st.Ino, 16))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if err := trustedDir(dir); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(ErrTenuresInUse, lock.Close())
	}
	return &Tenures{dir, lock}, nil
}

func runMode() os.FileMode {
	if ByUser() {
		return 0o700
	}
	return 0o755
}

func (t *Tenures) path(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(t.dir, hex.EncodeToString(sum[:16])+tenureSuffix)
}

// Put keeps one.
func (t *Tenures) Put(k tenure.Kept) error { return WriteState(t.path(k.ID), k) }

// Drop forgets one.
func (t *Tenures) Drop(id string) error {
	if err := os.Remove(t.path(id)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// All are those that are kept. One that cannot be read is left out: its lock is unknown then.
func (t *Tenures) All() (all []tenure.Kept, err error) {
	entries, err := os.ReadDir(t.dir)
	for _, e := range entries {
		var k tenure.Kept
		if strings.HasSuffix(e.Name(), tenureSuffix) && ReadState(filepath.Join(t.dir, e.Name()), &k) == nil {
			all = append(all, k)
		}
	}
	return all, err
}

// Close lets another daemon have them. Nothing is left if nothing is held.
func (t *Tenures) Close() error {
	if t == nil {
		return nil
	}
	_ = os.Remove(t.dir) // while it is locked; it stays if a lock is held
	return t.lock.Close()
}
