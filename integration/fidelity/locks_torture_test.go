package fidelity

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

var errTwoInside = errors.New("two had the lock at once")

func init() { operation.Add("lockloop", opLockCount) }

// opLockCount takes the lock of Path Len times, each time with Name's kinds in turn, and
// counts in the file To while it has it: a counter, and a mark of who is inside.
func opLockCount(s *operation.Box, c operation.Command) error {
	return s.With(c.Path, unix.O_RDWR, 0, func(fd int) error {
		return s.With(c.To, unix.O_RDWR, 0, func(counter int) error {
			for i := range c.Len {
				if err := countOnce(fd, counter, c.Name, c.Off, i); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func countOnce(fd, counter int, how string, who, round int64) error {
	set := func(kind int16) error {
		if how == "flock" {
			return operation.Uninterrupted(func() error {
				return unix.Flock(fd, map[int16]int{unix.F_WRLCK: unix.LOCK_EX, unix.F_UNLCK: unix.LOCK_UN}[kind])
			})
		}
		cmd := unix.F_SETLKW // one owner is a process, the next an open file: they exclude each other
		if (round+who)%2 == 0 {
			cmd = unix.F_OFD_SETLKW
		}
		l := unix.Flock_t{Type: kind, Start: 100, Len: 1 + round%5}
		return operation.Uninterrupted(func() error { return unix.FcntlFlock(uintptr(fd), cmd, &l) })
	}
	if err := set(unix.F_WRLCK); err != nil {
		return err
	}
	var b [16]byte
	if _, err := unix.Pread(counter, b[:], 0); err != nil {
		return err
	}
	n := binary.NativeEndian.Uint64(b[:])
	if binary.NativeEndian.Uint64(b[8:]) != 0 {
		return errTwoInside
	}
	binary.NativeEndian.PutUint64(b[8:], uint64(who)+1)
	if _, err := unix.Pwrite(counter, b[:], 0); err != nil {
		return err
	}
	time.Sleep(100 * time.Microsecond) // nobody comes in meanwhile
	binary.NativeEndian.PutUint64(b[:], n+1)
	binary.NativeEndian.PutUint64(b[8:], 0)
	if _, err := unix.Pwrite(counter, b[:], 0); err != nil {
		return err
	}
	return set(unix.F_UNLCK)
}

// Sixteen processes over two mounts and natively count under one lock: nobody is ever
// inside with another, and no count is lost. The counter lies beside all mounts.
func TestNoCountIsLostUnderOneFileLock(t *testing.T) {
	for _, how := range []string{"flock", "fcntl"} {
		t.Run(how, func(t *testing.T) {
			m, ways := twoMountsAndNative(t)
			counter := m.Base + "/counter"
			require.NoError(t, os.WriteFile(counter, make([]byte, 16), 0o666))
			var wg sync.WaitGroup
			const each = 10
			calls := harness.Rounds(3)
			for i := range 16 {
				a := harness.StartActor(t, fmt.Sprint(i))
				way := ways[[]string{"one", "two", "native"}[i%3]]
				wg.Go(func() {
					for range calls {
						r, err := a.Try(harness.Command{Op: "lockloop", Path: way("f"), To: counter, Name: how, Off: int64(i), Len: each})
						if !assert.NoError(t, err) || !assert.Empty(t, r.Errno, "%d", i) {
							return
						}
					}
				})
			}
			wg.Wait()
			text, err := os.ReadFile(counter)
			require.NoError(t, err)
			require.EqualValues(t, 16*each*calls, binary.NativeEndian.Uint64(text))
		})
	}
}

// Writers of one database through two mounts and natively: each row is there once, and
// the file is whole.
func TestSQLiteLosesNoRowThroughTwoMountsAndNatively(t *testing.T) {
	for _, mode := range [][2]string{{"delete", "exclusive"}, {"truncate", "shared"}, {"persist", "shared"}} {
		t.Run(mode[0], func(t *testing.T) {
			m, ways := twoMountsAndNative(t, "--mode", mode[1])
			w := harness.Workshop{T: t, Dir: m.Mountpoint, Env: os.Environ()}
			w.OK("sqlite3", "-bail", m.Behind("db"), "create table t(who, x, filler); create index i on t(filler);")
			const rows = 40
			var wg sync.WaitGroup
			for name, way := range ways {
				for _, who := range []string{name + "1", name + "2"} {
					wg.Go(func() {
						said := w.Run("sh", "-ec", fmt.Sprintf(`for i in $(seq %d); do
							sqlite3 -bail -cmd ".timeout 600000" -cmd "pragma journal_mode=%s" "$1" "begin immediate; insert into t values('%s', $i, hex(randomblob(300))); commit; select count(*) from t where who='%[3]s';" | tail -1 | grep -qx $i || { echo wrong at $i; exit 9; }
						done`, rows, mode[0], who), "-", way("db"))
						assert.Zero(t, said.Exit, "%s: %s%s", who, said.Out, said.Errs)
					})
				}
			}
			wg.Wait()
			for _, way := range ways {
				require.Equal(t, fmt.Sprintf("ok\n%d\n", 6*rows), w.OK("sqlite3", way("db"), "pragma integrity_check; select count(*) from t;"))
			}
		})
	}
}
