package service

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// installHelpers puts links to the binary where mount(8) and umount(8) look for helpers.
func installHelpers(m *harness.Mount, names ...string) {
	m.T.Helper()
	links := filepath.Join(m.Base, "sbin")
	require.NoError(m.T, os.Mkdir(links, 0o755))
	for _, name := range names {
		require.NoError(m.T, os.Symlink(m.Bin, filepath.Join(links, name)))
	}
	cover(m.T, links, "/usr/sbin")
}

// bare runs a program of the machine as in the environment of boot: without one.
func bare(m *harness.Mount, argv ...string) harness.ToolRun {
	m.T.Helper()
	return harness.Workshop{T: m.T, Dir: "/", Env: []string{}}.Run(argv...)
}

// system is bare for what must succeed.
func system(m *harness.Mount, argv ...string) string {
	m.T.Helper()
	r := bare(m, argv...)
	require.Zero(m.T, r.Exit, "%v\n%s%s", argv, r.Out, r.Errs)
	return r.Out + r.Errs
}

// mount8 mounts with mount(8).
func mount8(m *harness.Mount, options ...string) string {
	m.T.Helper()
	m.Mounted, m.WasMounted = true, true
	said := system(m, "/bin/mount", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.Options(options...))
	require.Equal(m.T, "fuse.jvsfs", harness.TopType(m.T, m.Mountpoint), "mount(8) has returned without a mount")
	return said
}

// umount8 unmounts with umount(8), and waits for the end of the daemon.
func umount8(m *harness.Mount, options ...string) {
	m.T.Helper()
	harness.EventuallyNoted(m.T, "umount", func() (bool, string) {
		r := bare(m, append(append([]string{"/bin/umount"}, options...), m.Mountpoint)...)
		require.Contains(m.T, []int{0, harness.MountFailed}, r.Exit, r.Errs)
		return r.Exit == 0, r.Errs
	})
	m.Mounted = false
	harness.Eventually(m.T, "the daemon ends", func() bool { return len(harness.ProcessesOf(m.Bin)) == 0 })
}

// flags are the per-mount options of the mount, as everybody sees them.
func flags(m *harness.Mount) []string {
	m.T.Helper()
	infos, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(m.Mountpoint))
	require.NoError(m.T, err)
	require.NotEmpty(m.T, infos)
	return strings.Split(infos[len(infos)-1].Options, ",")
}

// mount -t fuse.jvsfs mounts through the helper, without any environment, and what fstab
// may have is honoured or harmless; umount drains and releases before it returns.
func TestMount8MountsThroughTheHelper(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	installHelpers(m, "mount.fuse.jvsfs", "umount.fuse.jvsfs")
	said := mount8(m, "on_free=deny", "nosuid,nodev,noexec,noatime,nofail,_netdev,x-systemd.automount,allow_other,comment=hello")
	require.Empty(t, said, "silent while all is well")
	require.Subset(t, flags(m), []string{"rw", "nosuid", "nodev", "noexec"})
	require.Equal(t, [2]string{"deny", "-o option"}, m.Origins(m.Mountpoint)["on_free"])
	require.Equal(t, [2]string{"30s", "-o option"}, m.Origins(m.Mountpoint)["lease_duration"])
	require.Equal(t, [2]string{m.Source, "argument"}, m.Origins(m.Mountpoint)["source"])

	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a)
	a.OK(m.Put("f"))
	b.Fails(m.Put("f"), "EROFS")
	again := bare(m, "/bin/mount", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.Options())
	require.Equal(t, harness.MountFailed, again.Exit)
	require.Contains(t, again.Errs, "is on the jvsfs mount at")

	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	busy := bare(m, "/bin/umount", m.Mountpoint)
	require.Equal(t, harness.MountFailed, busy.Exit, busy.Errs)
	require.Contains(t, busy.Errs, "processes keep "+m.Mountpoint+" busy")
	lazy := bare(m, "/bin/umount", "-l", m.Mountpoint)
	require.Equal(t, harness.MountUsage, lazy.Exit, lazy.Errs)
	require.Contains(t, lazy.Errs, "bares the directory below")
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("still here")})
	a.OK(harness.Command{Op: "close", Handle: "f"})
	system(m, "/bin/umount", m.Mountpoint)
	_, r := m.HeadClaim("")
	require.True(t, r.Released, "released when umount returns")
	m.Mounted = false
}

// An impossible option is named, with a suggestion, and nothing is mounted.
func TestMount8NamesAnImpossibleOption(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	installHelpers(m, "mount.fuse.jvsfs", "mount.jvsfs")
	for options, want := range map[string]string{
		"nosuid,leese_duration=30s":   `mount option "leese_duration": jvsfs does not know it; did you mean lease_duration?`,
		"mode=both":                   `mode "both" (-o option): want exclusive or shared`,
		"remount":                     "unmount it and mount it again",
		"auto_unmount":                "must stay and refuse everything",
		"config=/nowhere/at/all.yaml": "/nowhere/at/all.yaml",
		"ro,enforce=observe":          "contradict each other",
	} {
		r := bare(m, "/bin/mount", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", options)
		require.Equal(t, harness.MountUsage, r.Exit, "%s: %s%s", options, r.Out, r.Errs)
		require.Contains(t, r.Errs, want, options)
		require.Empty(t, harness.TopType(t, m.Mountpoint), options)
	}
	r := bare(m, "/bin/mount", "-t", "fuse.jvsfs", m.Source+"/absent", m.Mountpoint, "-o", m.Options())
	require.Equal(t, harness.MountFailed, r.Exit)
	require.Contains(t, r.Errs, "no such file or directory")
	r = harness.Workshop{T: t, Dir: "/", Env: []string{}, Prefix: []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}}.Run(
		"/usr/sbin/mount.fuse.jvsfs", m.Source, m.Mountpoint, "-o", "rw")
	require.Equal(t, harness.MountUsage, r.Exit)
	require.Contains(t, r.Errs, "needs root")
	r = bare(m, "/bin/mount", "-N", "/proc/self/ns/mnt", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.Options())
	require.NotZero(t, r.Exit)
	require.Empty(t, harness.TopType(t, m.Mountpoint))

	said := system(m, "/bin/mount", "-fv", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.Options("ro"))
	require.Contains(t, said, "jvsfs mount -o control="+m.LockDir, "-v says what is done")
	require.Empty(t, harness.TopType(t, m.Mountpoint), "-f does nothing")
	m.Mounted, m.WasMounted = true, true
	said = system(m, "/bin/mount", "-sv", "-t", "jvsfs", m.Source, m.Mountpoint, "-o", m.Options("leese=3"))
	require.Contains(t, said, "left out as unknown: leese")
	umount8(m)
}

// A read-only mount says so to everybody, and refuses the holder too.
func TestMount8ReadOnlyRefusesTheHolderToo(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, Prepare: harness.WithFiles("f")})
	installHelpers(m, "mount.fuse.jvsfs")
	m.Mounted, m.WasMounted = true, true
	system(m, "/bin/sh", "-c", `exec "$@" <&- >&- 2>&-`, "sh", "/bin/mount", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.Options("ro"))
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint))
	require.Contains(t, flags(m), "ro")
	a := harness.StartActor(t, "a")
	a.OK(harness.Command{Op: "readfile", Path: m.At("f")})
	a.Fails(m.Put("f"), "EROFS")
	a.Fails(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EROFS")
	x, _ := m.Explain(a.PID(), m.At("f"))
	require.False(t, x.Allowed)
	require.Equal(t, [2]string{"readonly", "-o option"}, m.Origins(m.Mountpoint)["enforce"])
	umount8(m)
}

// Options of a living mount stay, but for those that mount(8) changes by itself.
func TestMount8RemountKeepsTheOptions(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	installHelpers(m, "mount.fuse.jvsfs")
	mount8(m)
	r := bare(m, "/bin/mount", "-o", "remount,ro", m.Mountpoint)
	require.Equal(t, harness.MountUsage, r.Exit, r.Errs)
	require.Contains(t, r.Errs, "unmount it and mount it again; what mount(8) can change by itself it does with remount,bind")
	a := harness.StartActor(t, "a")
	a.OK(m.Put("f"))
	system(m, "/bin/mount", "-o", "remount,bind,ro", m.Mountpoint)
	a.Fails(m.Put("f"), "EROFS")
	umount8(m)
}

// Lines of fstab: by their mount point, all of them, twice, with one that cannot be
// mounted and may fail. Without its own helper umount(8) takes the mount away by itself,
// and the daemon releases.
func TestFstabLinesAreMounted(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	installHelpers(m, "mount.fuse.jvsfs")
	spaced := filepath.Join(m.Base, "two words, $(false) 'and' \"more\"")
	require.NoError(t, os.Mkdir(spaced, 0o755))
	config := m.WriteConfig("c.yaml", "on_free: deny\nscope: user\n")
	fstab := m.WriteConfig("fstab", strings.Join([]string{
		"# source target type options dump pass",
		fstabWord(spaced) + " " + fstabWord(spaced) + " fuse.jvsfs " + m.Options() + " 0 0",
		m.Source + " " + m.Mountpoint + " fuse.jvsfs defaults,nosuid,nofail,x-systemd.requires=x.service,config=" + config + "," + m.Options() + " 0 0",
		m.Base + "/absent " + m.Base + "/absent fuse.jvsfs nofail,_netdev 0 0", "",
	}, "\n"))

	m.Mounted, m.WasMounted = true, true
	all := bare(m, "/bin/mount", "-a", "-T", fstab)
	// nofail is for who boots: a line whose helper fails counts for mount(8), as with NFS.
	require.Equal(t, harness.MountSomeFailed, all.Exit, all.Errs)
	require.Contains(t, all.Errs, m.Base+"/absent: no such file or directory")
	require.NotContains(t, all.Errs, "unknown")
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint), all.Errs)
	require.Equal(t, [2]string{"user", config + ":2"}, m.Origins(m.Mountpoint)["scope"])
	require.Equal(t, [2]string{"true", "-o option"}, m.Origins(m.Mountpoint)["nosuid"])
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, spaced))
	require.Len(t, m.Daemons(), 2)
	bare(m, "/bin/mount", "-a", "-T", fstab)
	require.Len(t, m.Daemons(), 2, "what is mounted stays as it is")
	system(m, "/bin/umount", spaced)
	harness.Eventually(t, "its daemon ends", func() bool { return len(m.Daemons()) == 1 })
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	umount8(m)
	_, r := m.HeadClaim("")
	require.True(t, r.Released, "the daemon has released at the end of its mount")

	system(m, "/bin/mount", "-T", fstab, spaced)
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, spaced))
	system(m, "/bin/umount", spaced)
	harness.Eventually(t, "the daemon ends", func() bool { return len(harness.ProcessesOf(m.Bin)) == 0 })
}

// fstabWord is a field of fstab with its blanks and quotes written as fstab(5) wants.
func fstabWord(s string) string {
	return strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`).Replace(s)
}

// Where its own helper is not installed mount(8) finds that of libfuse, which calls jvsfs
// by a shell; nothing of what is given to it is a word of that shell.
func TestMount8ThroughLibfuseRunsNoWordInAShell(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	odd := filepath.Join(m.Base, "it's $(touch oops) `touch oops`; touch oops")
	require.NoError(t, os.Mkdir(odd, 0o755))
	installHelpers(m, "jvsfs") // mount(8) takes PATH away, and the shell looks in its usual places
	w := harness.Workshop{T: t, Dir: m.Base, Env: []string{}}
	m.Mounted, m.WasMounted = true, true
	w.OK("/bin/mount", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.Options("nodev", "on_free=deny", "user=alice", "nofail"))
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint))
	require.Contains(t, flags(m), "nodev")
	harness.StartActor(t, "a").Fails(m.Put("f"), "EROFS")
	umount8(m)
	w.OK("/bin/mount", "-t", "fuse.jvsfs", odd, odd, "-o", m.Options())
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, odd))
	require.NoFileExists(t, filepath.Join(m.Base, "oops"))
	system(m, "/bin/umount", odd)
	harness.Eventually(t, "the daemon ends", func() bool { return len(harness.ProcessesOf(m.Bin)) == 0 })
}

// A line that lets users mount: mount(8) gives its helpers no more power than the user
// has, so it is refused in a sentence. By root the line has its usual attributes.
func TestFstabLineForUsersIsRefusedToUsers(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	installHelpers(m, "mount.fuse.jvsfs", "umount.fuse.jvsfs")
	coverFile(t, "/etc/fstab", m.Source+" "+m.Mountpoint+" fuse.jvsfs user,exec,"+m.Options()+" 0 0\n")
	asUser := exec.Command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/mount", m.Mountpoint)
	said, err := asUser.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "needs root")
	require.Empty(t, harness.TopType(t, m.Mountpoint))

	m.Mounted, m.WasMounted = true, true
	system(m, "/bin/mount", m.Mountpoint)
	require.Subset(t, flags(m), []string{"nosuid", "nodev"})
	require.NotContains(t, flags(m), "noexec")
	umount8(m)
}

// A dead mount stays, because it keeps the directory below closed: umount(8) unmounts it only with -f.
func TestUmount8LeavesADeadMountWithoutForce(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, Prepare: harness.WithFiles("f")})
	installHelpers(m, "mount.fuse.jvsfs", "umount.fuse.jvsfs")
	mount8(m)
	m.KillDaemon()
	r := bare(m, "/bin/umount", m.Mountpoint)
	require.Equal(t, harness.MountFailed, r.Exit, r.Errs)
	require.Contains(t, r.Errs, "nothing fences the directory below")
	harness.StartActor(t, "a").Fails(m.Put("f"), "ENOTCONN")
	system(m, "/bin/umount", "-f", m.Mountpoint)
	m.Mounted = false
}
