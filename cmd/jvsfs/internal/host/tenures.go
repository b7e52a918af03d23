package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/tenure"
)

// Tenures keeps who holds which lock of other programs, for a daemon that goes on after a killed one. It lies in the run
// directory: memory on most machines, and gone after a boot, as every holder is. One daemon at a time has the tenures of a
// source: two would not know of each other's. Safe for concurrent use.
type Tenures struct {
	dir     string
	lock    *os.File // LOCK_SH from now on, which keeps out who wants LOCK_EX, and lets a daemon in that replaces this one
	journal journal

	mu    sync.Mutex
	loans map[string]*loan
}

// ErrTenuresInUse says that another daemon has the tenures of the source.
var ErrTenuresInUse = errors.New("another mount of the same directory has rules for lock files")

// tenuresWait is how long the daemon before may take to let go of the tenures: it may just be told to.
const tenuresWait = 2 * time.Second

// OpenTenures opens those of the source behind a descriptor. beside says that the daemon that has them is about to be replaced.
func OpenTenures(source int, beside bool) (*Tenures, error) {
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
	if !takeTenures(int(lock.Fd()), beside) {
		return nil, errors.Join(ErrTenuresInUse, lock.Close())
	}
	t := &Tenures{dir: dir, lock: lock, loans: make(map[string]*loan)}
	t.journal.path = filepath.Join(dir, "journal")
	return t, nil
}

func takeTenures(fd int, beside bool) bool {
	for end := time.Now().Add(tenuresWait); !beside && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil; time.Sleep(tenuresWait / 100) {
		if time.Now().After(end) {
			return false
		}
	}
	return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) == nil
}

func runMode() os.FileMode {
	if ByUser() {
		return 0o700
	}
	return 0o755
}

func nameOfLock(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
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
	texts, err := t.journal.all()
	for _, text := range texts {
		var k tenure.Kept
		if json.Unmarshal(text, &k) == nil {
			all = append(all, k)
		}
	}
	return all, err
}

// Leave lets another daemon have them. What this one has lent stays until it is called in.
func (t *Tenures) Leave() error {
	return os.NewSyscallError("flock", unix.Flock(int(t.lock.Fd()), unix.LOCK_UN))
}

// Close is Leave, and what was lent is returned. Nothing is left if nothing is held.
func (t *Tenures) Close() error {
	if t == nil {
		return nil
	}
	t.redeemAll()
	err := t.journal.close()
	if unix.Flock(int(t.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil { // it is no other daemon's
		_ = os.Remove(t.dir) // it stays if a lock is held
	}
	return errors.Join(err, t.lock.Close())
}
