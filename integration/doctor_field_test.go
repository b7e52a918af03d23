package integration

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What goes wrong in the field, made to go wrong. Each finding must be there when it
// is, say how to mend it, and be gone when it was mended.

func (m *mount) requireFinding(id, text, fix string) {
	m.t.Helper()
	all, _, _ := m.doctor()
	found := all.of(id, text)
	require.NotEmpty(m.t, found, "%s, %s in %+v", id, text, all)
	require.NotEqual(m.t, "ok", found[0].Severity)
	require.Contains(m.t, found[0].Fix, fix)
	require.NotEmpty(m.t, found[0].Why)
}

func (m *mount) requireNoFinding(id, text string) {
	m.t.Helper()
	all, _, _ := m.doctor()
	require.Empty(m.t, all.of(id, text))
}

func TestDoctorDeadMount(t *testing.T) {
	m := newMount(t, mountOptions{inPlace: true, prepare: withFiles("f")})
	m.requireNoFinding("mounts.dead", m.Mountpoint)
	m.killDaemon()
	m.requireFinding("mounts.dead", m.Mountpoint, "jvsfs recover "+m.Mountpoint)
	out, _, exit := m.CLI("doctor")
	require.Equal(t, 1, exit)
	require.Contains(t, out, "why: everything in a dead mount fails")
}

func TestDoctorSilentMount(t *testing.T) {
	m := newMount(t, mountOptions{inPlace: true, prepare: withFiles("f")})
	var pids []int
	eventually(t, "the daemon has its guardian, which began as a copy of it", func() bool { pids = m.daemons(); return len(pids) == 1 })
	require.NoError(t, unix.Kill(pids[0], unix.SIGSTOP))
	defer func() { _ = unix.Kill(pids[0], unix.SIGCONT) }()
	m.requireFinding("mounts.silent", m.Mountpoint, "kill -CONT")
	require.NoError(t, unix.Kill(pids[0], unix.SIGCONT))
	m.requireNoFinding("mounts.silent", m.Mountpoint)
}

// A recovery puts the new mount beneath the dead one and detaches that; here it was
// interrupted in between.
func TestDoctorInterruptedRecovery(t *testing.T) {
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	n := m.second()
	m.mount()
	for _, pid := range m.daemons() {
		if serves(pid, m.Mountpoint) {
			_ = unix.Kill(pid, unix.SIGKILL) // a guardian that began as its copy may have gone on
		}
	}
	eventually(t, "the upper mount is dead", func() bool {
		all, _, _ := m.doctor()
		return len(all.of("mounts.dead", m.Mountpoint)) == 1
	})
	m.requireNoFinding("recovery.interrupted", m.Mountpoint)
	tree, err := unix.OpenTree(unix.AT_FDCWD, n.Mountpoint, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	require.NoError(t, err)
	const beneath = 0x200 // MOVE_MOUNT_BENEATH
	err = unix.MoveMount(tree, "", unix.AT_FDCWD, m.Mountpoint, unix.MOVE_MOUNT_F_EMPTY_PATH|beneath)
	require.NoError(t, unix.Close(tree))
	require.NoError(t, err)
	m.requireFinding("recovery.interrupted", m.Mountpoint, "jvsfs recover "+m.Mountpoint)
	m.cliOK("umount", "--bare", m.Mountpoint)
	require.NoError(t, unix.Unmount(m.Mountpoint, 0)) // the new one's second place
	m.mounted = false
}

// serves reports whether a daemon was started for a mount point.
func serves(pid int, point string) bool {
	args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && slices.Contains(strings.Split(string(args), "\x00"), point)
}

// Those who run in another mount namespace from before a mount do not get it where
// mounts are not passed on, and keep the bare directory; so does who stands in it.
func TestDoctorNamespaceThatMissedTheMount(t *testing.T) {
	m := prepareMount(t, mountOptions{inPlace: true, prepare: withFiles("f")})
	apart := m.start("unshare", "--mount", "--propagation", "private", "sh", "-c", "cd "+m.Source+" && exec sleep 1000")
	defer apart.kill()
	eventually(t, "it stands in the directory", func() bool {
		at, err := os.Readlink("/proc/" + strconv.Itoa(apart.pid()) + "/cwd")
		return err == nil && at == m.Source
	})
	m.mount()
	m.requireFinding("bypass.namespace", "process "+strconv.Itoa(apart.pid())+" (", "restart them")
	m.requireFinding("bypass.process", "process "+strconv.Itoa(apart.pid())+" (sleep 1000) is at "+m.Source, "leave the directory")
	m.requireFinding("bypass.bind", "at "+m.View, "umount "+m.View)
	apart.kill()
	m.requireNoFinding("bypass.namespace", m.Source)
	m.requireNoFinding("bypass.process", "process "+strconv.Itoa(apart.pid())+" ")
}

// A container runtime that runs already is not given a mount over a private carrier.
func TestDoctorPrivateCarrier(t *testing.T) {
	m := prepareMount(t, mountOptions{inPlace: true, prepare: withFiles("f")})
	m.propagate(unix.MS_PRIVATE)
	carrier := filepath.Dir(m.Mountpoint)
	conmon := filepath.Join(m.base, "conmon")
	require.NoError(t, copyBinary("/bin/sleep", conmon))
	apart := m.start("unshare", "--mount", "--propagation", "private", conmon, "1000")
	who := "process " + strconv.Itoa(apart.pid()) + " (conmon)"
	eventually(t, "it runs in a mount namespace of its own", func() bool {
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(apart.pid()) + "/comm")
		return err == nil && string(comm) == "conmon\n"
	})
	m.mount()
	m.requireFinding("propagation.private", "the mount that carries "+m.Mountpoint+" is private, so that "+who, "mount --make-shared "+carrier+", then mount again")
	m.unmount()
	require.NoError(t, unix.Mount("", carrier, "", unix.MS_SHARED, ""))
	m.mount()
	m.requireNoFinding("propagation.private", m.Mountpoint)
	all, _, _ := m.doctor()
	require.Len(t, all.of("propagation.shared", m.Mountpoint), 1)
	apart.kill()
	m.unmount() // before its carrier goes
}

// A mapping from before the mount stores past it, also when its descriptor is closed.
func TestDoctorMappingFromBefore(t *testing.T) {
	m := prepareMount(t, mountOptions{inPlace: true, prepare: withFiles("f")})
	early := startActor(t, "early")
	early.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	early.ok(command{Op: "mmap", Name: "map", Handle: "f", Len: 4096})
	m.mount()
	who := "process " + strconv.Itoa(early.pid()) + " "
	m.requireFinding("bypass.process", ", open for writing", "close its files")
	early.ok(command{Op: "close", Handle: "f"})
	m.requireFinding("bypass.process", who, "unmap")
	early.ok(command{Op: "munmap", Name: "map"})
	m.requireNoFinding("bypass.process", who)
}

// A socket that nobody listens on is removed where mending is asked for; the sockets
// of mounts are not.
func TestDoctorStaleSocket(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f")})
	stale := "/run/jvsfs/dev-0-1048575.sock"
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	defer os.Remove(stale)
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(stale, old, old))
	m.requireNoFinding("run.socket", stale)
	require.NoError(t, l.Close())
	m.requireFinding("run.socket", stale, "--repair")
	state := "/run/jvsfs/dev-0-1048575.json"
	require.NoError(t, os.WriteFile(state, []byte("{}"), 0o600))
	defer os.Remove(state)
	require.NoError(t, os.Chtimes(state, old, old))
	m.requireFinding("run.state", state, "remove it")

	all, _, _ := m.doctor("--repair")
	require.NotEmpty(t, all.of("repair.done", stale))
	require.NoFileExists(t, stale)
	require.FileExists(t, state, "what has content is nobody's to remove")
	require.Contains(t, m.cliOK("lock", "status", m.Mountpoint), "free", "the socket of the mount is still there")
}

// A guardian without its daemon.
func TestDoctorOrphanedGuardian(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f")})
	m.requireNoFinding("run.guardian", "")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cut, err := os.Create(filepath.Join(m.base, "abort"))
	require.NoError(t, err)
	cmd := exec.Command(m.bin, "guardian")
	cmd.ExtraFiles = []*os.File{r, cut}
	require.NoError(t, cmd.Start())
	eventually(t, "doctor finds it", func() bool {
		all, _, _ := m.doctor()
		return len(all.of("run.guardian", "process "+strconv.Itoa(cmd.Process.Pid)+" ")) == 1
	})
	_, err = w.Write([]byte{1})
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	for _, f := range []*os.File{r, w, cut} {
		require.NoError(t, f.Close())
	}
	m.requireNoFinding("run.guardian", "")
}

// A lock directory that cannot be written, and one that is nearly full.
func TestDoctorLockDirectory(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f")})
	m.requireNoFinding("locks.unwritable", m.LockDir)
	all, _, _ := m.doctor()
	require.NotEmpty(t, all.of("locks.atomic", m.LockDir))
	require.NoError(t, unix.Mount(m.LockDir, m.LockDir, "", unix.MS_BIND, ""))
	defer func() { _ = unix.Unmount(m.LockDir, unix.MNT_DETACH) }()
	require.NoError(t, unix.Mount("", m.LockDir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	m.requireFinding("locks.unwritable", m.LockDir, "mount the file system for writing")
	require.NoError(t, unix.Unmount(m.LockDir, 0))
	m.requireNoFinding("locks.unwritable", m.LockDir)
	left, err := filepath.Glob(filepath.Join(m.LockDir, ".doctor-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestDoctorFullLockDirectory(t *testing.T) {
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	require.NoError(t, os.MkdirAll(m.LockDir, 0o700))
	require.NoError(t, unix.Mount("tmpfs", m.LockDir, "tmpfs", 0, "size=512k,nr_inodes=40,mode=700"))
	defer func() { require.NoError(t, unix.Unmount(m.LockDir, unix.MNT_DETACH)) }() // the daemon is just ending
	m.mount()
	m.requireFinding("locks.space", m.LockDir, "make room")
	m.requireFinding("locks.inodes", m.LockDir, "remove files")
	m.unmount()
}

// The machine around the mounts, as a namespace and a limit can make it.
func TestDoctorOfTheMachine(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f")})
	const apart = "mount --make-rprivate / && "
	for _, c := range []struct{ line, id, text, fix string }{
		{"mount -t tmpfs none /dev; ", "fuse.missing", "/dev/fuse", "modprobe fuse"},
		{"mount -t tmpfs none /etc && mkdir /etc/jvsfs && echo 'enforcs: observe' >/etc/jvsfs/repo.yaml; ",
			"config.invalid", "/etc/jvsfs/repo.yaml:1:1: ", "mend"},
		{"mount -t tmpfs none /etc && mkdir /etc/jvsfs && echo 'source: /no/such' >/etc/jvsfs/repo.yaml; ",
			"config.source", "/no/such", "make the directory"},
		{"ulimit -n 4000; ", "limits.processes", "4000", "LimitNOFILE"},
	} {
		out, err := exec.Command("unshare", "--mount", "sh", "-c", apart+c.line+"exec "+m.bin+" doctor --json").Output()
		_ = err // the exit code is that of what was found
		all, _ := readDoctor(t, string(out))
		found := all.of(c.id, c.text)
		require.NotEmpty(t, found, "%s: %+v", c.line, all)
		require.NotEqual(t, "ok", found[0].Severity)
		require.Contains(t, found[0].Fix, c.fix)
	}
}

func TestVersionCommand(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f")})
	var v struct{ Version, Go, Platform string }
	requireJSON(t, m.cliOK("version", "--json"), &v)
	require.NotEmpty(t, v.Version)
	require.Contains(t, m.cliOK("version"), "jvsfs "+v.Version)
	all, _, _ := m.doctor()
	require.NotEmpty(t, all.of("version.same", m.Mountpoint+" is of the version of this command, "+v.Version))
}

// mount and umount speak JSON too.
func TestMountJSON(t *testing.T) {
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	var got struct {
		Mountpoint, Source, Shape, Locks string
		Unmounted                        bool
	}
	requireJSON(t, m.cliOK("mount", "--json", "--control", m.LockDir, "--log-file", m.logFile(), m.Source, m.Mountpoint), &got)
	require.Equal(t, []string{m.Mountpoint, m.Source, "directory", m.LockDir}, []string{got.Mountpoint, got.Source, got.Shape, got.Locks})
	requireJSON(t, m.cliOK("umount", "--json", m.Mountpoint), &got)
	require.True(t, got.Unmounted)
}
