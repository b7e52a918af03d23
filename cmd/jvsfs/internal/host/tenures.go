package host

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/tenure"
)

// Tenures keeps who holds which lock of other programs, for a daemon that goes on after a killed one. It lies in the run
// directory: memory on most machines, and gone after a boot, as every holder is. One daemon at a time has the tenures of a
// source: two would not know of each other's. Safe for concurrent use.
type Tenures struct {
	dir     string
	lock    *os.File
	journal journal
}

// ErrTenuresInUse says that another daemon has the tenures of the source.
var ErrTenuresInUse = errors.New("another mount of the same directory has rules for lock files")

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
	t := &Tenures{dir: dir, lock: lock}
	if err := t.journal.open(filepath.Join(dir, "journal")); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return t, nil
}

func runMode() os.FileMode {
	if ByUser() {
		return 0o700
	}
	return 0o755
}

// Put keeps one.
func (t *Tenures) Put(k tenure.Kept) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return t.journal.put(k.ID, text)
}

// Drop forgets one.
func (t *Tenures) Drop(id string) error { return t.journal.drop(id) }

// All are those that are kept. One that cannot be read is left out: its lock is unknown then.
func (t *Tenures) All() (all []tenure.Kept, err error) {
	for _, text := range t.journal.all() {
		var k tenure.Kept
		if json.Unmarshal(text, &k) == nil {
			all = append(all, k)
		}
	}
	return all, nil
}

// Close lets another daemon have them. Nothing is left if nothing is held.
func (t *Tenures) Close() error {
	if t == nil {
		return nil
	}
	err := t.journal.close()
	_ = os.Remove(t.dir) // while it is locked; it stays if a lock is held
	return errors.Join(err, t.lock.Close())
}
