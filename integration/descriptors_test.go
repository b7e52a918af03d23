package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() { actorOps["hoard"], actorOps["spend"] = opHoard, opSpend }

// hoard is what an actor has open of files that it found for itself.
var hoard []int

// opHoard opens the files 0, 1, ... below Path for reading, each Flags times, until it may
// not any more or has Len of them. It returns how many descriptors it has.
func opHoard(s *stage, c command) error {
	for i := range int(c.Len) {
		for range max(c.Flags, 1) {
			fd, err := unix.Open(filepath.Join(c.Path, fmt.Sprint(i)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				s.data = []byte(fmt.Sprintf("%d %v", len(hoard), err))
				return nil
			}
			hoard = append(hoard, fd)
		}
	}
	s.data = []byte(fmt.Sprintf("%d all", len(hoard)))
	return nil
}

func opSpend(*stage, command) error {
	for _, fd := range hoard {
		_ = unix.Close(fd)
	}
	hoard = nil
	return nil
}

// mountWithFew mounts with a daemon that has few descriptors and cannot raise that.
func (m *mount) mountWithFew(descriptors int) {
	m.t.Helper()
	m.mounted, m.wasMounted = true, true
	said, err := exec.Command("prlimit", fmt.Sprintf("--nofile=%d:%d", descriptors, descriptors), "setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource",
		m.bin, "mount", "--on-free", "deny", "--control", m.LockDir, "--log-file", m.logFile(), m.Source, m.Mountpoint).CombinedOutput()
	require.NoError(m.t, err, "%s", said)
}

// A user who opens all files that he can keeps nobody from working, least of all who holds
// the lease; who he is can be read. What he has open often costs one descriptor.
func TestOneUserDoesNotTakeAllDescriptors(t *testing.T) {
	const descriptors, files = 1200, 1000
	m := prepareMount(t, mountOptions{})
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(m.Source, fmt.Sprint(i)), nil, 0o644))
	}
	m.mountWithFew(descriptors)
	hog, other, holder := startActorAs(t, "hog", identity{uid: 1000, gid: 1000}), startActorAs(t, "other", identity{uid: 1001, gid: 1001}), startActor(t, "holder")
	m.acquire(holder)
	r := hog.ok(command{Op: "hoard", Path: m.Mountpoint, Len: files})
	require.Contains(t, string(r.Data), unix.ENFILE.Error(), "there is a bound")
	other.ok(command{Op: "readfile", Path: m.At("999")})
	other.ok(command{Op: "readdir", Path: m.Mountpoint})
	for i := range 100 {
		dir := m.At(fmt.Sprintf("d%d", i))
		holder.ok(command{Op: "mkdir", Path: dir, Mode: 0o755})
		holder.ok(command{Op: "writefile", Path: filepath.Join(dir, "f"), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("x")})
		holder.ok(command{Op: "readdir", Path: dir})
		holder.ok(command{Op: "unlink", Path: filepath.Join(dir, "f")})
	}
	require.Contains(t, m.cliOK("status"), "user 1000 has")
	said, _, _ := m.CLI("doctor")
	require.Contains(t, said, "user 1000 has")

	hog.ok(command{Op: "spend"})
	eventually(t, "what was closed is free again", func() bool {
		r := hog.ok(command{Op: "hoard", Path: m.Mountpoint, Len: 10, Flags: 100})
		all := string(r.Data) == "1000 all"
		hog.ok(command{Op: "spend"})
		return all
	})
}

// The same user is kept from his other sessions, too.
func TestTheHoldersOwnUserDoesNotTakeAllDescriptors(t *testing.T) {
	const descriptors, files = 1200, 1000
	m := prepareMount(t, mountOptions{})
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(m.Source, fmt.Sprint(i)), nil, 0o644))
	}
	require.NoError(t, os.Chmod(m.Source, 0o777))
	m.mountWithFew(descriptors)
	user := identity{uid: 1000, gid: 1000}
	hog, holder := startActorAs(t, "hog", user), startActorAs(t, "holder", user)
	m.acquire(holder)
	r := hog.ok(command{Op: "hoard", Path: m.Mountpoint, Len: files})
	require.Contains(t, string(r.Data), unix.ENFILE.Error(), "there is a bound")
	for i := range 50 {
		holder.ok(command{Op: "mkdir", Path: m.At(fmt.Sprintf("d%d", i)), Mode: 0o755})
	}
	holder.ok(command{Op: "readdir", Path: m.Mountpoint})
	hog.ok(command{Op: "spend"})
}
