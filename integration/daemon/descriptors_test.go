package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

func init() {
	operation.Add("hoard", opHoard)
	operation.Add("spend", opSpend)
}

// hoard is what an actor has open of files that it found for itself.
var hoard []int

// opHoard opens the files 0, 1, ... below Path for reading, each Flags times, until it may
// not any more or has Len of them. It returns how many descriptors it has.
func opHoard(s *operation.Box, c operation.Command) error {
	for i := range int(c.Len) {
		for range max(c.Flags, 1) {
			fd, err := unix.Open(filepath.Join(c.Path, fmt.Sprint(i)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				s.Data = []byte(fmt.Sprintf("%d %v", len(hoard), err))
				return nil
			}
			hoard = append(hoard, fd)
		}
	}
	s.Data = []byte(fmt.Sprintf("%d all", len(hoard)))
	return nil
}

func opSpend(*operation.Box, operation.Command) error {
	for _, fd := range hoard {
		_ = unix.Close(fd)
	}
	hoard = nil
	return nil
}

// mountWithFew mounts with a daemon that has few descriptors and cannot raise that.
func mountWithFew(m *harness.Mount, descriptors int) {
	m.T.Helper()
	m.Mounted, m.WasMounted = true, true
	said, err := exec.Command("prlimit", fmt.Sprintf("--nofile=%d:%d", descriptors, descriptors), "setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource",
		m.Bin, "mount", "--on-free", "deny", "--control", m.LockDir, "--log-file", m.LogFile(), m.Source, m.Mountpoint).CombinedOutput()
	require.NoError(m.T, err, "%s", said)
}

// A user who opens all files that he can keeps nobody from working, least of all who holds
// the lease; who he is can be read. What he has open often costs one descriptor.
func TestOneUserCannotUseUpTheDaemonsDescriptors(t *testing.T) {
	const descriptors, files = 1200, 1000
	m := harness.PrepareMount(t, harness.MountOptions{})
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(m.Source, fmt.Sprint(i)), nil, 0o644))
	}
	mountWithFew(m, descriptors)
	hog, other, holder := harness.StartActorAs(t, "hog", harness.Identity{UID: 1000, GID: 1000}), harness.StartActorAs(t, "other", harness.Identity{UID: 1001, GID: 1001}), harness.StartActor(t, "holder")
	m.Acquire(holder)
	r := hog.OK(harness.Command{Op: "hoard", Path: m.Mountpoint, Len: files})
	require.Contains(t, string(r.Data), unix.ENFILE.Error(), "there is a bound")
	other.OK(harness.Command{Op: "readfile", Path: m.At("999")})
	other.OK(harness.Command{Op: "readdir", Path: m.Mountpoint})
	for i := range 100 {
		dir := m.At(fmt.Sprintf("d%d", i))
		holder.OK(harness.Command{Op: "mkdir", Path: dir, Mode: 0o755})
		holder.OK(harness.Command{Op: "writefile", Path: filepath.Join(dir, "f"), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("x")})
		holder.OK(harness.Command{Op: "readdir", Path: dir})
		holder.OK(harness.Command{Op: "unlink", Path: filepath.Join(dir, "f")})
	}
	require.Contains(t, m.MustCLI("status"), "user 1000 has")
	said, _, _ := m.CLI("doctor")
	require.Contains(t, said, "user 1000 has")

	hog.OK(harness.Command{Op: "spend"})
	harness.Eventually(t, "what was closed is free again", func() bool {
		r := hog.OK(harness.Command{Op: "hoard", Path: m.Mountpoint, Len: 10, Flags: 100})
		all := string(r.Data) == "1000 all"
		hog.OK(harness.Command{Op: "spend"})
		return all
	})
}

// The same user is kept from his other sessions, too.
func TestTheHoldersUserCannotUseUpTheDaemonsDescriptors(t *testing.T) {
	const descriptors, files = 1200, 1000
	m := harness.PrepareMount(t, harness.MountOptions{})
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(m.Source, fmt.Sprint(i)), nil, 0o644))
	}
	require.NoError(t, os.Chmod(m.Source, 0o777))
	mountWithFew(m, descriptors)
	user := harness.Identity{UID: 1000, GID: 1000}
	hog, holder := harness.StartActorAs(t, "hog", user), harness.StartActorAs(t, "holder", user)
	m.Acquire(holder)
	r := hog.OK(harness.Command{Op: "hoard", Path: m.Mountpoint, Len: files})
	require.Contains(t, string(r.Data), unix.ENFILE.Error(), "there is a bound")
	for i := range 50 {
		holder.OK(harness.Command{Op: "mkdir", Path: m.At(fmt.Sprintf("d%d", i)), Mode: 0o755})
	}
	holder.OK(harness.Command{Op: "readdir", Path: m.Mountpoint})
	hog.OK(harness.Command{Op: "spend"})
}

// descriptorsOf counts the daemon's descriptors, and those through which something can be written
// below the source.
func descriptorsOf(m *harness.Mount, pid int) (all, writing int) {
	m.T.Helper()
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	require.NoError(m.T, err)
	for _, info := range infos {
		var pos, flags int
		text, err := os.ReadFile(info)
		if err != nil {
			continue // it was closed just now
		}
		_, err = fmt.Sscanf(string(text), "pos: %d\nflags: %o", &pos, &flags)
		require.NoError(m.T, err)
		all++
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, filepath.Base(info)))
		if err == nil && strings.Contains(to, "/many/") && flags&unix.O_ACCMODE != unix.O_RDONLY {
			writing++
		}
	}
	return all, writing
}

// A file that is open for writing costs the daemon one descriptor, whether it was there or
// is made; each further open of it one more. When it is closed it is open no longer.
func TestAFileOpenForWritingCostsOneDescriptor(t *testing.T) {
	const files, slack = 500, 100 // the first few are not shared; readers, locks
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow", Prepare: func(t testing.TB, tree string) {
		require.NoError(t, os.Mkdir(filepath.Join(tree, "many"), 0o755))
		for i := range files {
			require.NoError(t, os.WriteFile(filepath.Join(tree, "many", fmt.Sprint(i)), []byte("there"), 0o644))
		}
	}})
	pid := m.Daemons()[0]
	before, _ := descriptorsOf(m, pid)
	costs := func(want int, what string) {
		t.Helper()
		harness.EventuallyNoted(t, what, func() (bool, string) { // closes are told to the daemon a moment later
			all, writing := descriptorsOf(m, pid)
			return all-before >= want-slack && all-before <= want+slack, fmt.Sprint(all-before, " descriptors, ", writing, " for writing")
		})
	}
	var fds []int
	open := func(first, flags int) {
		for i := first; i < first+files; i++ {
			fd, err := unix.Open(m.At("many", fmt.Sprint(i)), flags|unix.O_CLOEXEC, 0o644)
			require.NoError(t, err)
			fds = append(fds, fd)
		}
	}
	open(0, unix.O_WRONLY)
	costs(files, "files that were there")
	_, writing := descriptorsOf(m, pid)
	require.Equal(t, files, writing)
	open(files, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	costs(2*files, "files that are made")
	open(0, unix.O_RDWR)
	costs(3*files, "another open of the same")
	for i, fd := range fds {
		_, err := unix.Pwrite(fd, []byte(fmt.Sprintf("by %d", i)), 0)
		require.NoError(t, err)
	}
	for i := range files {
		require.Equal(t, fmt.Sprintf("by %d", i+2*files), harness.ReadText(t, m.Behind("many", fmt.Sprint(i))))
		require.Equal(t, fmt.Sprintf("by %d", i+files), harness.ReadText(t, m.Behind("many", fmt.Sprint(i+files))))
	}
	for _, fd := range fds {
		require.NoError(t, unix.Close(fd))
	}
	costs(2*files, "what the kernel remembers")
	harness.EventuallyNoted(t, "what is closed is not open for writing: it could not be run", func() (bool, string) {
		_, writing = descriptorsOf(m, pid) // the kernel tells of a close when it is over
		return writing == 0, fmt.Sprint(writing)
	})
}

// The daemon and its guardian live on after the script that mounts. They must not keep its files open: a lock of the script would stay
// taken, and the reader of a pipe would wait for ever.
func TestTheDaemonKeepsNoDescriptorOfTheMountCommand(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	const theirs = "/dev/zero" // a file that no process of ours opens
	mount := fmt.Sprintf("exec 9<%s; exec %s mount --control %s --log-file %s %s %s", theirs, m.Bin, m.LockDir, m.LogFile(), m.Source, m.Mountpoint)
	m.Mounted, m.WasMounted = true, true
	said, err := exec.Command("/bin/sh", "-c", mount).CombinedOutput()
	require.NoError(t, err, "%s", said)
	of := harness.ProcessesOf(m.Bin)
	require.NotEmpty(t, of)
	for _, pid := range of {
		open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range open {
			file, _ := os.Readlink(fd) // it may be closed by now
			require.NotEqual(t, theirs, file, "process %d has it as %s", pid, fd)
		}
	}
}
