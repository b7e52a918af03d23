// Package systems does what five programs do with their lock files: the same system calls, in the same order. The
// stories of integration/rules stop a process between two of them, so that a race comes out the same each time.
//
// Nothing of the programs is in here. The calls of af, agency, entwurf and JVS were traced with strace, those of jit
// were read from its source; each file says of which version. Calls that are only for the language's runtime are left
// out, and so is what the programs do for themselves (parse options, print).
package systems

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Call is one operation of one of the programs.
type Call struct {
	Dir      string        // where its files are
	What     string        // which of them: a repository, an issue, a garden, a worktree
	Data     string        // what is written, or who asks
	Clock    time.Duration // how far the program's clock is off
	Patience time.Duration // how long it waits for its lock
	At       func(point string)
}

// Operation does it. The answer is the program's own word; an error is what the system said to it.
type Operation func(c Call) (answer string, err error)

// Operations are all, by the program and the operation.
var Operations = map[string]Operation{
	"af.append": afAppend, "af.batch": afBatch,
	"agency.lock": agencyLock, "agency.unlock": agencyUnlock, "agency.write": agencyWrite,
	"entwurf.acquire": entwurfAcquire, "entwurf.release": entwurfRelease,
	"jit.init": jitInit, "jit.save": jitSave, "jit.list": jitList, "jit.event": jitEvent, "jit.delete": jitDelete,
	"jvs.acquire": jvsAcquire, "jvs.renew": jvsRenew, "jvs.steal": jvsSteal, "jvs.release": jvsRelease, "jvs.write": jvsWrite,
}

// now is what the program's clock shows.
func (c Call) now() time.Time { return time.Now().Add(c.Clock).UTC() }

// poll is how long af and jit sleep between two tries.
const poll = 10 * time.Millisecond

// lives asks as kill(pid, 0) does: only "no such process" is dead.
func lives(pid int) bool { return pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// create makes a file that must not be there, and writes it.
func create(path string, mode os.FileMode, flags int, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|flags, mode)
	if err != nil {
		return err
	}
	return writeAndClose(f, text)
}

func writeAndClose(f *os.File, text []byte) error {
	_, err := f.Write(text)
	return errors.Join(err, f.Close())
}
