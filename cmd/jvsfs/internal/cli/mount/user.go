package mount

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/flags"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// A user without root mounts over a directory of his own, through fusermount3, for his own processes.

// mayMount refuses what only root can serve. Root may mount everything.
func (m *mountCommand) mayMount(cfg mountcfg.Config, p place.Place) error {
	if err := flags.MayFence(cfg); err != nil {
		return err
	}
	if !host.ByUser() {
		return nil
	}
	for _, dir := range slices.Compact([]string{p.Root, cmp.Or(cfg.Mountpoint, p.Root)}) {
		if err := ownDirectory(dir); err != nil {
			return err
		}
	}
	if slices.Contains(strings.Split(strings.Join(m.settings.Options, ","), ","), "allow_other") {
		return &api.Failure{Class: api.ClassUsage, Message: "allow_other needs root: a mount without root serves its user alone, whatever /etc/fuse.conf allows",
			Next: "leave it out, or run it with sudo"}
	}
	if cfg.NoSymFollow {
		return &api.Failure{Class: api.ClassUsage, Message: "nosymfollow needs root: fusermount3 does not know it", Next: "leave it out, or run it with sudo"}
	}
	if err := withoutMountsInside(p.Root); err != nil {
		return err
	}
	if err := unix.Access("/dev/fuse", unix.R_OK|unix.W_OK); err != nil {
		return &api.Failure{Class: api.ClassDenied, File: "/dev/fuse", Err: err, Message: fmt.Sprintf("users cannot mount on this machine: /dev/fuse: %v", err),
			Next: "as root: modprobe fuse; chmod 666 /dev/fuse; or run it with sudo"}
	}
	if _, err := exec.LookPath(fusefs.UserMountProgram); err != nil {
		return &api.Failure{Class: api.ClassDenied, Err: err, Message: "mounting without root needs fusermount3, and it is not there",
			Next: "install it (apt-get install fuse3), or run it with sudo"}
	}
	return host.PrepareSocketDir(host.RunDir())
}

// ownDirectory refuses a directory of somebody else. Its owner does not come through a mount of this user, and
// would be shut out.
func ownDirectory(dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return api.NoPath(dir, err)
	}
	if int64(st.Uid) == int64(os.Geteuid()) {
		return nil
	}
	return &api.Failure{Class: api.ClassDenied,
		Message: fmt.Sprintf("mounting over a directory needs root, or to own it: %s belongs to %s", human.Printable(dir), process.UserName(st.Uid)),
		Next:    "run it with sudo, or name a directory of your own"}
}

// withoutMountsInside refuses a source with other file systems in it. Root leaves them out of the mount by a
// private copy of the mount below, which a user cannot make.
func withoutMountsInside(source string) error {
	mounts, err := host.ReadMounts()
	if err != nil {
		return err
	}
	if inside := mounts.HiddenIn(source); len(inside) > 0 {
		return &api.Failure{Class: api.ClassDenied,
			Message: fmt.Sprintf("file systems are mounted inside of %s (%s), and only root can leave them out of the mount", human.Printable(source), host.HiddenText(inside)),
			Next:    "unmount them first, name a directory beside them, or run it with sudo"}
	}
	return nil
}

// refuseReplacing refuses what puts one mount beneath another.
func (m *mountCommand) refuseReplacing(args []string) error {
	if !host.ByUser() || !m.recover && !m.replace && m.state == "" {
		return nil
	}
	point := "MOUNTPOINT"
	if len(args) > 0 {
		point = human.Typed(args[len(args)-1])
	}
	return &api.Failure{Class: api.ClassDenied, Message: "to recover or replace a mount in place needs root: one mount is put beneath another",
		Next: fmt.Sprintf("jvsfs umount %s (--bare if it is dead), then jvsfs mount it again; nothing is fenced in between", point)}
}

// sayByUser tells what a mount of a user lacks.
func (m *mountCommand) sayByUser() {
	if !host.ByUser() {
		return
	}
	name := process.UserName(uint32(os.Geteuid()))
	note := console.Note(m.io)
	note(fmt.Sprintf("mounted without root, for processes of %s alone: nobody else comes through, root included", name))
	note(fmt.Sprintf("weaker than root's mount: a program of %s that wants to can unmount it or forge its records, and after a kill the way back (umount --bare, then mount) leaves a moment without a fence; see jvsfs-guarantees(7)", name))
}
