package daemon

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

	"github.com/jvsfs/jvsfs/integration/harness"
)

// What goes wrong in the field, made to go wrong. Each finding must be there when it
// is, say how to repair it, and be gone when it was repaired.

func TestDoctorNamesADeadMount(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{InPlace: true, Prepare: harness.WithFiles("f")})
	m.RequireNoFinding("mounts.dead", m.Mountpoint)
	m.KillDaemon()
	m.RequireFinding("mounts.dead", m.Mountpoint, "jvsfs recover "+m.Mountpoint)
	out, _, exit := m.CLI("doctor")
	require.Equal(t, 1, exit)
	require.Contains(t, out, "why: everything in a dead mount fails")
}

func TestDoctorNamesAMountWhoseDaemonDoesNotAnswer(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{InPlace: true, Prepare: harness.WithFiles("f")})
	var pids []int
	harness.Eventually(t, "the daemon has its guardian, which began as a copy of it", func() bool { pids = m.Daemons(); return len(pids) == 1 })
	require.NoError(t, unix.Kill(pids[0], unix.SIGSTOP))
	defer func() { _ = unix.Kill(pids[0], unix.SIGCONT) }()
	m.RequireFinding("mounts.silent", m.Mountpoint, "kill -CONT")
	require.NoError(t, unix.Kill(pids[0], unix.SIGCONT))
	m.RequireNoFinding("mounts.silent", m.Mountpoint)
}

// A recovery puts the new mount beneath the dead one and detaches that; here it was
// interrupted in between.
func TestDoctorNamesAnInterruptedRecovery(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	n := m.Second()
	m.Mount()
	for _, pid := range m.Daemons() {
		if serves(pid, m.Mountpoint) {
			_ = unix.Kill(pid, unix.SIGKILL) // a guardian that began as its copy may have gone on
		}
	}
	harness.Eventually(t, "the upper mount is dead", func() bool {
		all, _, _ := m.Doctor()
		return len(all.Of("mounts.dead", m.Mountpoint)) == 1
	})
	m.RequireNoFinding("recovery.interrupted", m.Mountpoint)
	tree, err := unix.OpenTree(unix.AT_FDCWD, n.Mountpoint, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	require.NoError(t, err)
	const beneath = 0x200 // MOVE_MOUNT_BENEATH
	err = unix.MoveMount(tree, "", unix.AT_FDCWD, m.Mountpoint, unix.MOVE_MOUNT_F_EMPTY_PATH|beneath)
	require.NoError(t, unix.Close(tree))
	require.NoError(t, err)
	m.RequireFinding("recovery.interrupted", m.Mountpoint, "jvsfs recover "+m.Mountpoint)
	m.MustCLI("umount", "--bare", m.Mountpoint)
	require.NoError(t, unix.Unmount(m.Mountpoint, 0)) // the new one's second place
	m.Mounted = false
}

// serves reports whether a daemon was started for a mount point.
func serves(pid int, point string) bool {
	args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && slices.Contains(strings.Split(string(args), "\x00"), point)
}

// Those who run in another mount namespace from before a mount do not get it where
// mounts are not passed on, and keep the bare directory; so does who stands in it.
func TestDoctorNamesProcessesOfANamespaceWithoutTheMount(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, Prepare: harness.WithFiles("f")})
	apart := m.Start("unshare", "--mount", "--propagation", "private", "sh", "-c", "cd "+m.Source+" && exec sleep 1000")
	defer apart.Kill()
	harness.Eventually(t, "it stands in the directory", func() bool {
		at, err := os.Readlink("/proc/" + strconv.Itoa(apart.PID()) + "/cwd")
		return err == nil && at == m.Source
	})
	m.Mount()
	m.RequireFinding("bypass.namespace", "process "+strconv.Itoa(apart.PID())+" (", "restart them")
	m.RequireFinding("bypass.process", "process "+strconv.Itoa(apart.PID())+" (sleep 1000) is at "+m.Source, "leave the directory")
	m.RequireFinding("bypass.bind", "at "+m.View, "umount "+m.View)
	apart.Kill()
	m.RequireNoFinding("bypass.namespace", m.Source)
	m.RequireNoFinding("bypass.process", "process "+strconv.Itoa(apart.PID())+" ")
}

// A container runtime that runs already is not given a mount over a private carrier.
func TestDoctorWarnsOfAPrivateParentMount(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, Prepare: harness.WithFiles("f")})
	propagate(m, unix.MS_PRIVATE)
	carrier := filepath.Dir(m.Mountpoint)
	conmon := filepath.Join(m.Base, "conmon")
	require.NoError(t, harness.CopyBinary("/bin/sleep", conmon))
	apart := m.Start("unshare", "--mount", "--propagation", "private", conmon, "1000")
	who := "process " + strconv.Itoa(apart.PID()) + " (conmon)"
	harness.Eventually(t, "it runs in a mount namespace of its own", func() bool {
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(apart.PID()) + "/comm")
		return err == nil && string(comm) == "conmon\n"
	})
	m.Mount()
	m.RequireFinding("propagation.private", "the mount that carries "+m.Mountpoint+" is private, so that "+who, "mount --make-shared "+carrier+", then mount again")
	m.Unmount()
	require.NoError(t, unix.Mount("", carrier, "", unix.MS_SHARED, ""))
	m.Mount()
	m.RequireNoFinding("propagation.private", m.Mountpoint)
	all, _, _ := m.Doctor()
	require.Len(t, all.Of("propagation.shared", m.Mountpoint), 1)
	apart.Kill()
	m.Unmount() // before its carrier goes
}

// A mapping from before the mount stores past it, also when its descriptor is closed.
func TestDoctorNamesAMappingFromBeforeTheMount(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, Prepare: harness.WithFiles("f")})
	early := harness.StartActor(t, "early")
	early.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	early.OK(harness.Command{Op: "mmap", Name: "map", Handle: "f", Len: 4096})
	m.Mount()
	who := "process " + strconv.Itoa(early.PID()) + " "
	m.RequireFinding("bypass.process", ", open for writing", "close its files")
	early.OK(harness.Command{Op: "close", Handle: "f"})
	m.RequireFinding("bypass.process", who, "unmap")
	early.OK(harness.Command{Op: "munmap", Name: "map"})
	m.RequireNoFinding("bypass.process", who)
}

// A socket that nobody listens on is removed where repairing is asked for; the sockets
// of mounts are not.
func TestDoctorRemovesAStaleSocketWhenAskedToRepair(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	stale := "/run/jvsfs/dev-0-1048575.sock"
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	defer os.Remove(stale)
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(stale, old, old))
	m.RequireNoFinding("run.socket", stale)
	require.NoError(t, l.Close())
	m.RequireFinding("run.socket", stale, "--repair")
	state := "/run/jvsfs/dev-0-1048575.json"
	require.NoError(t, os.WriteFile(state, []byte("{}"), 0o600))
	defer os.Remove(state)
	require.NoError(t, os.Chtimes(state, old, old))
	m.RequireFinding("run.state", state, "remove it")

	all, _, _ := m.Doctor("--repair")
	require.NotEmpty(t, all.Of("repair.done", stale))
	require.NoFileExists(t, stale)
	require.FileExists(t, state, "what has content is nobody's to remove")
	require.Contains(t, m.MustCLI("lock", "status", m.Mountpoint), "free", "the socket of the mount is still there")
}

// A guardian without its daemon.
func TestDoctorNamesAGuardianWithoutItsDaemon(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	m.RequireNoFinding("run.guardian", "")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cut, err := os.Create(filepath.Join(m.Base, "abort"))
	require.NoError(t, err)
	cmd := exec.Command(m.Bin, "guardian")
	cmd.ExtraFiles = []*os.File{r, cut}
	require.NoError(t, cmd.Start())
	harness.Eventually(t, "doctor finds it", func() bool {
		all, _, _ := m.Doctor()
		return len(all.Of("run.guardian", "process "+strconv.Itoa(cmd.Process.Pid)+" ")) == 1
	})
	_, err = w.Write([]byte{1})
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	for _, f := range []*os.File{r, w, cut} {
		require.NoError(t, f.Close())
	}
	m.RequireNoFinding("run.guardian", "")
}

// A lock directory that cannot be written, and one that is nearly full.
func TestDoctorNamesALockDirectoryThatCannotBeWritten(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	m.RequireNoFinding("locks.unwritable", m.LockDir)
	all, _, _ := m.Doctor()
	require.NotEmpty(t, all.Of("locks.atomic", m.LockDir))
	require.NoError(t, unix.Mount(m.LockDir, m.LockDir, "", unix.MS_BIND, ""))
	defer func() { _ = unix.Unmount(m.LockDir, unix.MNT_DETACH) }()
	require.NoError(t, unix.Mount("", m.LockDir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	m.RequireFinding("locks.unwritable", m.LockDir, "mount the file system for writing")
	require.NoError(t, unix.Unmount(m.LockDir, 0))
	m.RequireNoFinding("locks.unwritable", m.LockDir)
	left, err := filepath.Glob(filepath.Join(m.LockDir, ".doctor-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestDoctorNamesAFullLockDirectory(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	require.NoError(t, os.MkdirAll(m.LockDir, 0o700))
	require.NoError(t, unix.Mount("tmpfs", m.LockDir, "tmpfs", 0, "size=512k,nr_inodes=40,mode=700"))
	defer func() { require.NoError(t, unix.Unmount(m.LockDir, unix.MNT_DETACH)) }() // the daemon is just ending
	m.Mount()
	m.RequireFinding("locks.space", m.LockDir, "make room")
	m.RequireFinding("locks.inodes", m.LockDir, "remove files")
	m.Unmount()
}

// The machine around the mounts, as a namespace and a limit can make it.
func TestDoctorJudgesTheMachineAroundTheMounts(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	const apart = "mount --make-rprivate / && "
	for _, c := range []struct{ line, id, text, fix string }{
		{"mount -t tmpfs none /dev; ", "fuse.missing", "/dev/fuse", "modprobe fuse"},
		{"mount -t tmpfs none /etc && mkdir /etc/jvsfs && echo 'enforcs: observe' >/etc/jvsfs/repo.yaml; ",
			"config.invalid", "/etc/jvsfs/repo.yaml:1:1: ", "correct"},
		{"mount -t tmpfs none /etc && mkdir /etc/jvsfs && echo 'source: /no/such' >/etc/jvsfs/repo.yaml; ",
			"config.source", "/no/such", "make the directory"},
		{"ulimit -n 4000; ", "limits.processes", "4000", "LimitNOFILE"},
	} {
		out, err := exec.Command("unshare", "--mount", "sh", "-c", apart+c.line+"exec "+m.Bin+" doctor --json").Output()
		_ = err // the exit code is that of what was found
		all, _ := harness.ReadDoctor(t, string(out))
		found := all.Of(c.id, c.text)
		require.NotEmpty(t, found, "%s: %+v", c.line, all)
		require.NotEqual(t, "ok", found[0].Severity)
		require.Contains(t, found[0].Fix, c.fix)
	}
}

func TestVersionSaysWhichBuildItIs(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	var v struct{ Version, Go, Platform string }
	harness.RequireJSON(t, m.MustCLI("version", "--json"), &v)
	require.NotEmpty(t, v.Version)
	require.Contains(t, m.MustCLI("version"), "jvsfs "+v.Version)
	all, _, _ := m.Doctor()
	require.NotEmpty(t, all.Of("version.same", m.Mountpoint+" is of the version of this command, "+v.Version))
}

// mount and umount speak JSON too.
func TestMountAndUmountAnswerInJSON(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	var got struct {
		Mountpoint, Source, Shape, Locks string
		Unmounted                        bool
	}
	harness.RequireJSON(t, m.MustCLI("mount", "--json", "--control", m.LockDir, "--log-file", m.LogFile(), m.Source, m.Mountpoint), &got)
	require.Equal(t, []string{m.Mountpoint, m.Source, "directory", m.LockDir}, []string{got.Mountpoint, got.Source, got.Shape, got.Locks})
	harness.RequireJSON(t, m.MustCLI("umount", "--json", m.Mountpoint), &got)
	require.True(t, got.Unmounted)
}
