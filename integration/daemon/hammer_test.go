package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

func init() { operation.Add("hammer", opHammer) }

// hammerTurn is how long an actor hammers at one command: it has to answer in time.
const hammerTurn = 2 * time.Second

// opHammer appends to a file by path, and reads another, without a pause until the file
// To exists, or its turn is over. Data is how often each of it ended how: with EXDEV what
// came to the file system of To's directory, where the backing files are, and not to the
// mount.
func opHammer(s *operation.Box, c operation.Command) error {
	seen := map[string]int{}
	below, err := deviceOf(filepath.Dir(c.To))
	if err != nil {
		return err
	}
	for begun := time.Now(); time.Since(begun) < hammerTurn; {
		err := hammerOnce(c.Path, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT, below, func(fd int) error {
			_, err := unix.Write(fd, []byte("x\n"))
			return err
		})
		seen["write "+operation.ErrnoName(err)]++
		err = hammerOnce(c.Name, unix.O_RDONLY, below, func(fd int) error {
			_, err := unix.Read(fd, make([]byte, 16))
			return err
		})
		seen["read "+operation.ErrnoName(err)]++
		if _, err := os.Lstat(c.To); err == nil {
			break
		}
	}
	s.Data, err = json.Marshal(seen)
	return err
}

func hammerOnce(path string, flags int, below [2]uint32, use func(fd int) error) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	var st unix.Statx_t // asks no daemon, which may be dead
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	switch {
	case err != nil:
	case [2]uint32{st.Dev_major, st.Dev_minor} == below:
		err = unix.EXDEV
	default:
		err = use(fd)
	}
	_ = unix.Close(fd) // a daemon that is killed before it may fail it, and what the call before said still holds
	return err
}

// deviceOf is the device that a path is on.
func deviceOf(path string) ([2]uint32, error) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_TYPE, &st)
	return [2]uint32{st.Dev_major, st.Dev_minor}, err
}

// hammer is an actor that hammers until stopped.
type hammer struct {
	t    *testing.T
	stop string
	done chan hammered
}

// hammered is how often what happened, and what kept the actor from saying so.
type hammered struct {
	seen map[string]int
	err  error
}

func startHammer(t *testing.T, a *harness.Actor, write, read, stop string) *hammer {
	h := &hammer{t: t, stop: stop, done: make(chan hammered, 1)}
	go func() {
		all := hammered{seen: map[string]int{}}
		for all.err == nil {
			var r harness.Reply
			var turn map[string]int
			if r, all.err = a.Try(harness.Command{Op: "hammer", Path: write, Name: read, To: stop}); all.err == nil {
				all.err = json.Unmarshal(r.Data, &turn)
			}
			for what, n := range turn {
				all.seen[what] += n
			}
			if _, err := os.Lstat(stop); err == nil {
				break
			}
		}
		h.done <- all
	}()
	return h
}

// end stops it and says how often what happened.
func (h *hammer) end() map[string]int {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(h.stop, nil, 0o600))
	all := <-h.done
	require.NoError(h.t, all.err)
	return all.seen
}
