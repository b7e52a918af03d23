package fusefs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
)

// looking is a backing file system that checks its caller, which is a thread of the mount above: is
// the capability in effect that ignores quotas and reserved blocks? The thread waits for the answer
// meanwhile.
type looking struct {
	fuse.RawFileSystem
	t *testing.T

	mu   sync.Mutex
	seen map[string]bool
}

// newLooking mounts it, and returns the directory.
func newLooking(t *testing.T) (*looking, string) {
	t.Helper()
	back := t.TempDir()
	require.NoError(t, os.Chmod(back, 0o777))
	require.NoError(t, os.Chmod(filepath.Dir(back), 0o755))
	root, err := fs.NewLoopbackRoot(back)
	require.NoError(t, err)
	l := &looking{RawFileSystem: fs.NewNodeFS(root, &fs.Options{}), t: t, seen: make(map[string]bool)}
	dir := t.TempDir()
	server, err := fuse.NewServer(l, dir, &fuse.MountOptions{DirectMountStrict: true, AllowOther: true, FsName: "looking"})
	require.NoError(t, err)
	go server.Serve() // until the unmount
	t.Cleanup(func() { require.NoError(t, server.Unmount()) })
	settle(t, dir)
	return l, dir
}

func (l *looking) note(op string, h *fuse.InHeader) {
	caps, err := effectiveOf(h.Pid)
	if err != nil {
		l.t.Errorf("%s: %v", op, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[op] = l.seen[op] || caps&uint64(reserveCaps()) != 0
}

// effectiveOf reads the capabilities in effect of a thread.
func effectiveOf(tid uint32) (uint64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(int(tid)) + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "\nCapEff:")
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseUint(strings.TrimSpace(line), 16, 64)
}

func (l *looking) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	l.note("rename", &in.InHeader)
	return l.RawFileSystem.Rename(cancel, in, from, to)
}

func (l *looking) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	if in.Valid&fuse.FATTR_SIZE != 0 {
		l.note("truncate", &in.InHeader)
	}
	return l.RawFileSystem.SetAttr(cancel, in, out)
}

// Ioctl knows inode flags, of which no file has any.
func (l *looking) Ioctl(_ <-chan struct{}, in *fuse.IoctlIn, _ []byte, _ *fuse.IoctlOut, out []byte) fuse.Status {
	if in.Cmd == unix.FS_IOC_SETFLAGS {
		l.note("ioctl", &in.InHeader)
	}
	clear(out)
	return fuse.OK
}

// What a file system keeps back for root, and any quota, is out of a user's reach through the
// mount. This also holds for calls that write no bytes: a rename may need a block of the directory,
// a truncation one of the file, and a project id moves blocks to another quota.
func TestTheReserveIsOutOfReachOfWhatWritesNoBytes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	standInReserve(t)
	source, dir := newLooking(t)
	m := mounted(t, layout.Tree, func(string) {}, func(o *Options) { o.Source = dir })
	m.hold(t, "tree", 1)
	for _, c := range []struct {
		uid  uint32
		caps []uintptr
	}{{uid: 0}, {uid: 1000}, {1000, []uintptr{unix.CAP_FSETID}}} { // the kernel asks otherwise for who may keep setid bits
		out, err := shAs(m.dir, c.uid, "truncate -s 4096 f && mv f g && chattr +d g", c.caps...)
		require.NoError(t, err, out)
		source.mu.Lock()
		root := c.uid == 0
		require.Equal(t, map[string]bool{"rename": root, "truncate": root, "ioctl": root}, source.seen, "%+v", c)
		clear(source.seen)
		source.mu.Unlock()
		out, err = shAs(m.dir, 0, "rm -f f g")
		require.NoError(t, err, out)
	}
}

// shAs is sh as a user, with some capabilities.
func shAs(dir string, uid uint32, script string, caps ...uintptr) (string, error) {
	c := exec.Command("sh", "-c", `cd "$0" && eval "$1"`, dir, script)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, AmbientCaps: caps}
	out, err := c.CombinedOutput()
	return string(out), err
}
