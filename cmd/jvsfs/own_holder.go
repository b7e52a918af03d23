package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// aboutOwn says in a conflict that the holder is a process of whoever asks, if it is one: nobody else ends it.
func aboutOwn(err error, path string) error {
	f := api.AsFailure(err)
	if f == nil || f.Class != lease.ClassLockConflict || f.Holder == nil || f.Holder.ExpiresAt == nil || time.Now().After(*f.Holder.ExpiresAt) {
		return err // what is over is not given back
	}
	next := nextOfOwn(f.Holder.HolderID, f.Holder.UID, f.Holder.PID, path)
	if next == "" {
		return err
	}
	own := *f
	own.Next = next
	return &own
}

// nextOfOwn is what to do about a holder that is a process of this user on this machine, "" for another one.
// The start time in the holder's id tells whether the process with that number is the one.
func nextOfOwn(holder string, uid uint32, pid int, path string) string {
	st, err := gate.ReadStat(pid)
	if err != nil || int64(uid) != int64(os.Getuid()) || !strings.HasPrefix(holder, gate.HostName()+":") ||
		!strings.HasSuffix(holder, fmt.Sprintf(":%d:%d", pid, st.Start)) {
		return ""
	}
	shell, name := host.IsShell(pid)
	if !shell {
		return fmt.Sprintf("it is %s, a process of yours: wait for it with --wait 1m, or end it: kill %d", human.Printable(name), pid)
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
