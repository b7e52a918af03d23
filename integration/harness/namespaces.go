package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// insideEnv marks the run of the test binary in namespaces of its own.
const insideEnv = "JVSFS_TEST_INSIDE"

// firstProcess prepares the namespaces and stays as their init, which waits for orphans.
const firstProcess = `
for dir in /run/jvsfs /var/lib/jvsfs /var/log/jvsfs; do
  mkdir -p "$dir" && mount -t tmpfs -o mode=755 tmpfs "$dir" || exit 1
done
"$0" "$@"
exit $?`

// enterNamespaces runs the test binary again in mount and process namespaces of its own.
// Packages that run at the same time then see nothing of each other: neither mounts, nor
// control sockets, nor daemons. It returns in that run only.
func enterNamespaces() error {
	if os.Getenv(insideEnv) != "" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return err
	}
	args := []string{"unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc",
		"bash", "-c", firstProcess, self}
	return syscall.Exec(unshare, append(args, os.Args[1:]...), append(os.Environ(), insideEnv+"=1"))
}

// leaveMountsOfOthers takes the jvsfs mounts away that were there before, in this namespace alone: no test has made them, and a copy keeps
// a mount from ending elsewhere.
func leaveMountsOfOthers() error {
	if os.Getppid() != 1 {
		return nil
	}
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("fuse.jvsfs"))
	for _, m := range slices.Backward(mounts) {
		err = errors.Join(err, os.NewSyscallError("umount "+m.Mountpoint, unix.Unmount(m.Mountpoint, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)))
	}
	return err
}

// nothingStays looks for what no test has ended: with the namespaces it would go unseen.
// A run within a run leaves that to the first, whose parent is the init.
func nothingStays() error {
	if os.Getppid() != 1 {
		return nil
	}
	var left []string
	for deadline := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		processes, err := othersHere()
		mounts, err2 := mountinfo.GetMounts(mountinfo.FSTypeFilter("fuse.jvsfs"))
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		left = processes
		for _, m := range mounts {
			left = append(left, "mount "+m.Mountpoint)
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%q", left)
		}
	}
}

// othersHere are the processes of the namespace but for its init and this one.
func othersHere() (all []string, err error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if pid == 1 || pid == os.Getpid() {
			continue
		}
		name, err := os.ReadFile(dir + "/comm")
		if err != nil {
			continue // it has just ended
		}
		all = append(all, fmt.Sprintf("process %d %s", pid, name[:max(len(name)-1, 0)]))
	}
	return all, err
}
