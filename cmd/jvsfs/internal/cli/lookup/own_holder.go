package lookup

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// AboutWorktree puts the path that was typed into the advice of a failure. In a conflict with a shell of
// whoever asks it says so.
func AboutWorktree(err error, path string) error {
	f := api.AsFailure(err)
	if f == nil {
		return nil
	}
	told := *f
	told.Next = strings.ReplaceAll(f.Next, "WORKTREE", human.Typed(path))
	h := f.Holder
	if f.Class == lease.ClassLockConflict && h != nil && h.ExpiresAt != nil && time.Now().Before(*h.ExpiresAt) { // what is over is not given back
		told.Next = cmp.Or(NextOfOwn(h.HolderID, h.UID, h.PID, path), told.Next)
	}
	return &told
}

// NextOfOwn is what to do about a holder that is a shell of this user on this machine, "" for another one. Such a
// shell, in another terminal, would be waited for in vain. The start time in the holder's id tells whether the process with that number is the one.
func NextOfOwn(holder string, uid uint32, pid int, path string) string {
	st, err := process.ReadStat(pid)
	if err != nil || int64(uid) != int64(os.Getuid()) || !strings.HasPrefix(holder, process.HostName()+":") ||
		!strings.HasSuffix(holder, fmt.Sprintf(":%d:%d", pid, st.Start)) {
		return ""
	}
	if !host.IsShell(pid) {
		return "" // a command ends by itself
	}
	return fmt.Sprintf("it is a shell of yours%s: jvsfs lock release --pid %d %s", seatOf(pid), pid, human.Typed(path))
}

// seatOf says on which terminal a process reads, "" for none.
func seatOf(pid int) string {
	in, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
	if name, ok := strings.CutPrefix(in, "/dev/"); err == nil && ok && name != "null" {
		return " on " + human.Printable(filepath.Clean(name))
	}
	return ""
}
