package fusefs

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/transport"
)

// A user without privileges cannot make a superblock. fusermount3(1), which is setuid, makes it, attaches it
// and hands over the descriptor that requests come from. So the mount is visible from the beginning. Nobody
// meets an unguarded moment: until the kernel's greeting is answered, every call waits. The kernel lets only
// processes with the user's own ids through (no allow_other), so the daemon acts as every caller.

// UserMountProgram mounts and unmounts for users.
const UserMountProgram = "fusermount3"

// unprivileged reports whether this process acts with the ids of one user, which it cannot change.
var unprivileged = sync.OnceValue(func() bool { return os.Geteuid() != 0 })

// userMountPatience bounds the wait for the descriptor. fusermount3 sends it, or fails, at once.
const userMountPatience = 30 * time.Second

// openSource opens the source of a user. There is no private clone of its mount (cloneMount): the way into
// other file systems that are mounted inside of it stays open, so the caller refuses such a source.
func openSource(dir string) (int, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return fd, nil
}

// prepareByUser is Prepare for a user. Nobody is answered before Attach.
func (s *Server) prepareByUser() error {
	if err := s.stillTheSource(); err != nil {
		return err
	}
	dev, err := mountByUser(s.opts.Mountpoint, userMountOptions(s.opts.Source, mountAttrs(s.source)|s.opts.Attributes))
	if err != nil {
		return err
	}
	s.fs.kernel.Dev = dev // closed with the file system
	s.made = &superblock{context: -1, mount: -1}
	if s.major, s.minor, err = deviceMountedAt(s.opts.Mountpoint); err != nil {
		return errors.Join(err, unmountByUser(s.opts.Mountpoint, true))
	}
	s.holdAbort()
	s.newTransport(dev)
	s.greeted = make(chan struct{})
	s.serving.Go(func() {
		<-s.greeted
		if s.Attached() {
			s.transport.Serve()
		}
		s.once.Do(func() { close(s.stop) })
	})
	s.serving.Go(func() { <-s.greeted; s.fs.run(s.stop) })
	return nil
}

// attachByUser answers the kernel's greeting. From then on callers are served.
func (s *Server) attachByUser() error {
	hello, err := s.transport.Greet(s.opts.Transport, true)
	if err != nil {
		return err
	}
	s.fs.greeted(&hello)
	s.made.attached = true
	close(s.greeted)
	return nil
}

// discardByUser takes away a mount that has served nobody. It is detached from those who wait for its first
// answer, and they fail when the descriptor is closed.
func (s *Server) discardByUser() {
	if err := unmountByUser(s.opts.Mountpoint, true); err != nil {
		s.opts.Log.Sugar().Warnw("a mount that was not finished is left, and refuses everything", "error", err)
	}
	close(s.greeted)
	s.serving.Wait()
}

// Abandon lets Wait and Close return although the kernel's connection lasts, for a user who cannot abort it:
// the kernel lets him do that only where /sys/fs/fuse/connections is mounted. The end of the process ends the
// connection. Until then everything stays open, because a request may still be under way.
func (s *Server) Abandon() {
	if s.opts.ByUser {
		s.leave.Do(func() { close(s.left) })
	}
}

func (s *Server) isLeft() bool {
	select {
	case <-s.left:
		return true
	default:
		return false
	}
}

// waitOrLeave is Wait for a mount of a user.
func (s *Server) waitOrLeave() {
	served := make(chan struct{})
	go func() { s.serving.Wait(); close(served) }() // ends with the connection
	select {
	case <-served:
	case <-s.left:
	}
}

// stillTheSource is sameAsSource before the mount: afterwards the source is covered.
func (s *Server) stillTheSource() error {
	target, err := openSource(s.opts.Mountpoint)
	if err != nil {
		return fmt.Errorf("mount point %w", err)
	}
	defer func() { _ = unix.Close(target) }()
	return sameAsSource(target, s.source, s.opts.Source, s.opts.Mountpoint)
}

// deviceMountedAt is the device of what is mounted at a place. It asks no daemon.
func deviceMountedAt(mountpoint string) (major, minor uint32, err error) {
	fd, err := unix.Open(mountpoint, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0, &os.PathError{Op: "open", Path: mountpoint, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	return deviceOf(fd)
}

// userMountOptions are the options for fusermount3. It adds user_id, group_id, nosuid and nodev by itself.
func userMountOptions(source string, attrs int) string {
	escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`)
	o := []string{"fsname=" + escape.Replace(source), "subtype=jvsfs", "default_permissions", "max_read=" + strconv.Itoa(transport.MaxRead)}
	if attrs&unix.MOUNT_ATTR_RDONLY != 0 {
		o = append(o, "ro")
	}
	if attrs&unix.MOUNT_ATTR_NOEXEC != 0 {
		o = append(o, "noexec")
	}
	return strings.Join(o, ",")
}

// mountByUser lets fusermount3 mount, and returns the descriptor of the connection. The program sends it over
// the socket that _FUSE_COMMFD names.
func mountByUser(mountpoint, options string) (dev int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer func() { _ = ours.Close() }()
	said, err := runUserMount(theirs, "-o", options, "--", mountpoint)
	_ = theirs.Close() // or the end would not be seen
	if err != nil {
		return -1, fmt.Errorf("%s: %w: %s", UserMountProgram, err, said)
	}
	return receiveDescriptor(ours)
}

func runUserMount(comm *os.File, args ...string) (said string, err error) {
	cmd := exec.Command(UserMountProgram, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Dir = "/"
	if comm != nil {
		cmd.ExtraFiles = []*os.File{comm}
		cmd.Env = append(cmd.Env, "_FUSE_COMMFD=3")
	}
	var out bytes.Buffer
	cmd.Stderr = &out
	err = cmd.Run()
	return strings.TrimSpace(strings.ReplaceAll(out.String(), UserMountProgram+": ", "")), err
}

func receiveDescriptor(from *os.File) (int, error) {
	generic, err := net.FileConn(from)
	if err != nil {
		return -1, err
	}
	defer func() { _ = generic.Close() }()
	conn := generic.(*net.UnixConn)
	if err := conn.SetReadDeadline(time.Now().Add(userMountPatience)); err != nil {
		return -1, err
	}
	buf, oob := make([]byte, 16), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return -1, fmt.Errorf("descriptor of the connection: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return -1, fmt.Errorf("descriptor of the connection: %s sent none (%w)", UserMountProgram, errors.Join(err, unix.EPROTO))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("descriptor of the connection: %s sent none (%w)", UserMountProgram, errors.Join(err, unix.EPROTO))
	}
	unix.CloseOnExec(fds[0])
	return fds[0], nil
}

// UnmountByUser unmounts a mount of this user. If it is in use, the error is unix.EBUSY, unwrapped.
func UnmountByUser(mountpoint string) error { return unmountByUser(mountpoint, false) }

// DetachByUser takes a mount of this user out of the tree. Whoever has it open keeps it until he closes it (fusermount3(1), -z).
func DetachByUser(mountpoint string) error { return unmountByUser(mountpoint, true) }

func unmountByUser(mountpoint string, lazy bool) error {
	args := []string{"-u"}
	if lazy {
		args = append(args, "-z")
	}
	said, err := runUserMount(nil, append(args, "--", mountpoint)...)
	switch {
	case err == nil:
		return nil
	case strings.Contains(said, unix.EBUSY.Error()), strings.Contains(said, "Device or resource busy"):
		return unix.EBUSY
	}
	return fmt.Errorf("%s: %w: %s", UserMountProgram, err, said)
}
