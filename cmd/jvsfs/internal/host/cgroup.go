package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Cgroup is a group of the unified hierarchy that this process has made, below its own, and is in.
type Cgroup struct {
	home string // where it was before
	dir  string
}

// cgroupPrefix begins the names of the groups that commands make for themselves.
const cgroupPrefix = "jvsfs-exec-"

// EnterCgroup makes a group and moves this process into it. What a killed command has left of
// such groups, and nobody is in, is removed.
func EnterCgroup() (*Cgroup, error) {
	home, err := ownCgroup()
	if err != nil {
		return nil, noCgroup(err)
	}
	removeEmpty(home)
	for range 10 {
		var dir string
		if dir, err = newGroup(home); err != nil {
			break
		}
		if err = moveTo(dir); err == nil {
			return &Cgroup{home: home, dir: dir}, nil
		}
		_ = os.Remove(dir)
		// Another command took it for one that was left: before it was opened, or before it was written to.
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENODEV) {
			break
		}
	}
	return nil, noCgroup(err)
}

// newGroup makes a group that nobody else has. The process's number is in its name for people; it is not unique, because process
// namespaces may share a cgroup, and who takes another's group ends its processes.
func newGroup(home string) (string, error) {
	dir, err := os.MkdirTemp(home, cgroupPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // as mkdir(1) makes groups: their members may look at them
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}

func noCgroup(err error) *api.Failure {
	return &api.Failure{
		Message: fmt.Sprintf("a cgroup of its own cannot be made for the command: %v", err),
		Next:    "leave --cgroup out; or run it as root, or in a cgroup that is delegated: systemd-run --user --scope -p Delegate=yes jvsfs exec ...", Err: err,
	}
}

// ownCgroup is the directory of this process's group.
func ownCgroup() (string, error) {
	at, err := process.OwnCgroup()
	if err != nil && !errors.Is(err, process.ErrNoCgroup) {
		return "", err
	}
	if err == nil {
		mounts, err := ReadMounts()
		if err != nil {
			return "", err
		}
		for _, m := range mounts {
			if m.FSType == "cgroup2" && Within(m.Root, at) && mounts.At(m.Mountpoint) == m {
				return PathIn(m, at), nil
			}
		}
	}
	return "", errors.New("no cgroup version 2 hierarchy is mounted that shows the one of this process")
}

func moveTo(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	return errors.Join(err, f.Close())
}

// removeEmpty removes the groups of commands that were killed; the kernel keeps those that
// somebody is in.
func removeEmpty(home string) {
	left, _ := filepath.Glob(filepath.Join(home, cgroupPrefix+"*")) // the pattern is good
	for _, dir := range left {
		_ = unix.Rmdir(dir)
	}
}

// Leave goes back, ends who is still in the group, and removes it.
func (g *Cgroup) Leave(within time.Duration) error {
	if err := moveTo(g.home); err != nil {
		return err
	}
	_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0) // Linux 5.14; those below it were signalled
	until := time.Now().Add(within)
	for {
		err := unix.Rmdir(g.dir)
		if err == nil || errors.Is(err, unix.ENOENT) || time.Now().After(until) {
			return os.NewSyscallError("rmdir "+g.dir, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
