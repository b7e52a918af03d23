//go:build jvsfs_torture

package inject

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// Mark writes that a token is about to be claimed, or was, between the writes and the changes of names that land.
func Mark(kind byte, worktree string, token uint64, pid int) {
	if enemy == nil {
		return
	}
	i := slices.IndexFunc(enemy.Marks, func(m plan.Marks) bool { return m.Worktree == "" || m.Worktree == worktree })
	if i < 0 {
		return
	}
	r := plan.Record{Kind: kind, Token: token + enemy.Marks[i].Base, Host: enemy.Host, PID: pid, Wall: plan.Realtime()}
	_, err := enemy.logs[enemy.Marks[i].Log].Write(r.Encode())
	must(err)
	fd, err := unix.Open(filepath.Join(enemy.Marks[i].Dir, r.Name()), unix.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_CLOEXEC, 0o600)
	must(err)
	_ = unix.Close(fd)
}
