package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Exit codes of mount(8) and umount(8).
const (
	mountUsage      = 1
	mountFailed     = 32
	mountSomeFailed = 64 // mount -a: the others are mounted
)

// installHelpers puts links to the binary where mount(8) and umount(8) look for helpers.
func (m *mount) installHelpers(names ...string) {
	m.t.Helper()
	links := filepath.Join(m.base, "sbin")
	require.NoError(m.t, os.Mkdir(links, 0o755))
	for _, name := range names {
		require.NoError(m.t, os.Symlink(m.bin, filepath.Join(links, name)))
	}
	cover(m.t, links, "/usr/sbin")
}

// bare runs a program of the machine as in the environment of boot: without one.
func (m *mount) bare(argv ...string) toolRun {
	m.t.Helper()
	return workshop{t: m.t, dir: "/", env: []string{}}.run(argv...)
}

// system is bare for what must succeed.
func (m *mount) system(argv ...string) string {
	m.t.Helper()
	r := m.bare(argv...)
	require.Zero(m.t, r.exit, "%v\n%s%s%s", argv, r.out, r.errs, m.logTail())
	return r.out + r.errs
}

// options are what this mount wants in a test; more are added to them.
func (m *mount) options(more ...string) string {
	all := []string{"control=" + m.LockDir, "log_file=" + m.logFile(), "lease_duration_ms=30000", "renew-interval=10s"}
	return strings.Join(append(all, more...), ",")
}

// mount8 mounts with mount(8).
func (m *mount) mount8(options ...string) string {
	m.t.Helper()
	m.mounted, m.wasMounted = true, true
	said := m.system("/bin/mount", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.options(options...))
	require.Equal(m.t, "fuse.jvsfs", topType(m.t, m.Mountpoint), "mount(8) has returned without a mount")
	return said
}

// umount8 unmounts with umount(8), and waits for the end of the daemon.
func (m *mount) umount8(options ...string) {
	m.t.Helper()
	eventuallyNoted(m.t, "umount", func() (bool, string) {
		r := m.bare(append(append([]string{"/bin/umount"}, options...), m.Mountpoint)...)
		require.Contains(m.t, []int{0, mountFailed}, r.exit, r.errs)
		return r.exit == 0, r.errs
	})
	m.mounted = false
	eventually(m.t, "the daemon ends", func() bool { return len(processesOf(m.bin)) == 0 })
}

// flags are the per-mount options of the mount, as everybody sees them.
func (m *mount) flags() []string {
	m.t.Helper()
	infos, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(m.Mountpoint))
	require.NoError(m.t, err)
	require.NotEmpty(m.t, infos)
	return strings.Split(infos[len(infos)-1].Options, ",")
}

// mount -t fuse.jvsfs mounts through the helper, without any environment, and what fstab
// may have is honoured or harmless; umount drains and releases before it returns.
func TestMount8(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	m.installHelpers("mount.fuse.jvsfs", "umount.fuse.jvsfs")
	said := m.mount8("on_free=deny", "nosuid,nodev,noexec,noatime,nofail,_netdev,x-systemd.automount,allow_other,comment=hello")
	require.Empty(t, said, "silent while all is well")
	require.Subset(t, m.flags(), []string{"rw", "nosuid", "nodev", "noexec"})
	require.Equal(t, [2]string{"deny", "-o option"}, m.origins(m.Mountpoint)["on_free"])
	require.Equal(t, [2]string{"30s", "-o option"}, m.origins(m.Mountpoint)["lease_duration"])
	require.Equal(t, [2]string{m.Source, "argument"}, m.origins(m.Mountpoint)["source"])

	a, b := startActor(t, "a"), startActor(t, "b")
	m.acquire(a)
	a.ok(m.put("f"))
	b.fails(m.put("f"), "EROFS")
	again := m.bare("/bin/mount", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.options())
	require.Equal(t, mountFailed, again.exit)
	require.Contains(t, again.errs, "is on the jvsfs mount at")

	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	busy := m.bare("/bin/umount", m.Mountpoint)
	require.Equal(t, mountFailed, busy.exit, busy.errs)
	require.Contains(t, busy.errs, "processes keep "+m.Mountpoint+" busy")
	lazy := m.bare("/bin/umount", "-l", m.Mountpoint)
	require.Equal(t, mountUsage, lazy.exit, lazy.errs)
	require.Contains(t, lazy.errs, "bares the directory below")
	a.ok(command{Op: "write", Handle: "f", Data: []byte("still here")})
	a.ok(command{Op: "close", Handle: "f"})
	m.system("/bin/umount", m.Mountpoint)
	_, r := m.headClaim("")
	require.True(t, r.Released, "released when umount returns")
	m.mounted = false
}

// What cannot be had is named, with what was meant, and nothing is mounted.
func TestMount8Mistakes(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	m.installHelpers("mount.fuse.jvsfs", "mount.jvsfs")
	for options, want := range map[string]string{
		"nosuid,leese_duration=30s":   `mount option "leese_duration": jvsfs does not know it; did you mean lease_duration?`,
		"mode=both":                   `mode "both" (-o option): want exclusive or shared`,
		"remount":                     "unmount it and mount it again",
		"auto_unmount":                "must stay and refuse everything",
		"config=/nowhere/at/all.yaml": "/nowhere/at/all.yaml",
		"ro,enforce=observe":          "contradict each other",
	} {
		r := m.bare("/bin/mount", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", options)
		require.Equal(t, mountUsage, r.exit, "%s: %s%s", options, r.out, r.errs)
		require.Contains(t, r.errs, want, options)
		require.Empty(t, topType(t, m.Mountpoint), options)
	}
	r := m.bare("/bin/mount", "-t", "fuse.jvsfs", m.Source+"/absent", m.Mountpoint, "-o", m.options())
	require.Equal(t, mountFailed, r.exit)
	require.Contains(t, r.errs, "no such file or directory")
	r = workshop{t: t, dir: "/", env: []string{}, prefix: []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}}.run(
		"/usr/sbin/mount.fuse.jvsfs", m.Source, m.Mountpoint, "-o", "rw")
	require.Equal(t, mountUsage, r.exit)
	require.Contains(t, r.errs, "needs root")
	r = m.bare("/bin/mount", "-N", "/proc/self/ns/mnt", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.options())
	require.NotZero(t, r.exit)
	require.Empty(t, topType(t, m.Mountpoint))

	said := m.system("/bin/mount", "-fv", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.options("ro"))
	require.Contains(t, said, "jvsfs mount -o control="+m.LockDir, "-v says what is done")
	require.Empty(t, topType(t, m.Mountpoint), "-f does nothing")
	m.mounted, m.wasMounted = true, true
	said = m.system("/bin/mount", "-sv", "-t", "jvsfs", m.Source, m.Mountpoint, "-o", m.options("leese=3"))
	require.Contains(t, said, "left out as unknown: leese")
	m.umount8()
}

// A read-only mount says so to everybody, and refuses the holder too.
func TestMount8ReadOnly(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := prepareMount(t, mountOptions{inPlace: true, prepare: withFiles("f")})
	m.installHelpers("mount.fuse.jvsfs")
	m.mounted, m.wasMounted = true, true
	m.system("/bin/sh", "-c", `exec "$@" <&- >&- 2>&-`, "sh", "/bin/mount", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.options("ro"))
	require.Equal(t, "fuse.jvsfs", topType(t, m.Mountpoint))
	require.Contains(t, m.flags(), "ro")
	a := startActor(t, "a")
	a.ok(command{Op: "readfile", Path: m.At("f")})
	a.fails(m.put("f"), "EROFS")
	a.fails(command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EROFS")
	x, _ := m.explain(a.pid(), m.At("f"))
	require.False(t, x.Allowed)
	require.Equal(t, [2]string{"readonly", "-o option"}, m.origins(m.Mountpoint)["enforce"])
	m.umount8()
}

// Options of a living mount stay, but for those that mount(8) changes by itself.
func TestMount8Remount(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	m.installHelpers("mount.fuse.jvsfs")
	m.mount8()
	r := m.bare("/bin/mount", "-o", "remount,ro", m.Mountpoint)
	require.Equal(t, mountUsage, r.exit, r.errs)
	require.Contains(t, r.errs, "unmount it and mount it again; what mount(8) can change by itself it does with remount,bind")
	a := startActor(t, "a")
	a.ok(m.put("f"))
	m.system("/bin/mount", "-o", "remount,bind,ro", m.Mountpoint)
	a.fails(m.put("f"), "EROFS")
	m.umount8()
}

// Lines of fstab: by their mount point, all of them, twice, with one that cannot be
// mounted and may fail. Without its own helper umount(8) takes the mount away by itself,
// and the daemon releases.
func TestFstab(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	m.installHelpers("mount.fuse.jvsfs")
	spaced := filepath.Join(m.base, "two words, $(false) 'and' \"more\"")
	require.NoError(t, os.Mkdir(spaced, 0o755))
	config := m.writeConfig("c.yaml", "on_free: deny\nscope: user\n")
	fstab := m.writeConfig("fstab", strings.Join([]string{
		"# source target type options dump pass",
		fstabWord(spaced) + " " + fstabWord(spaced) + " fuse.jvsfs " + m.options() + " 0 0",
		m.Source + " " + m.Mountpoint + " fuse.jvsfs defaults,nosuid,nofail,x-systemd.requires=x.service,config=" + config + "," + m.options() + " 0 0",
		m.base + "/absent " + m.base + "/absent fuse.jvsfs nofail,_netdev 0 0", "",
	}, "\n"))

	m.mounted, m.wasMounted = true, true
	all := m.bare("/bin/mount", "-a", "-T", fstab)
	// nofail is for who boots: a line whose helper fails counts for mount(8), as with NFS.
	require.Equal(t, mountSomeFailed, all.exit, all.errs)
	require.Contains(t, all.errs, m.base+"/absent: no such file or directory")
	require.NotContains(t, all.errs, "unknown")
	require.Equal(t, "fuse.jvsfs", topType(t, m.Mountpoint), all.errs)
	require.Equal(t, [2]string{"user", config + ":2"}, m.origins(m.Mountpoint)["scope"])
	require.Equal(t, [2]string{"true", "-o option"}, m.origins(m.Mountpoint)["nosuid"])
	require.Equal(t, "fuse.jvsfs", topType(t, spaced))
	require.Len(t, m.daemons(), 2)
	m.bare("/bin/mount", "-a", "-T", fstab)
	require.Len(t, m.daemons(), 2, "what is mounted stays as it is")
	m.system("/bin/umount", spaced)
	eventually(t, "its daemon ends", func() bool { return len(m.daemons()) == 1 })
	a := startActor(t, "a")
	m.acquire(a)
	m.umount8()
	_, r := m.headClaim("")
	require.True(t, r.Released, "the daemon has released at the end of its mount")

	m.system("/bin/mount", "-T", fstab, spaced)
	require.Equal(t, "fuse.jvsfs", topType(t, spaced))
	m.system("/bin/umount", spaced)
	eventually(t, "the daemon ends", func() bool { return len(processesOf(m.bin)) == 0 })
}

// fstabWord is a field of fstab with its blanks and quotes written as fstab(5) wants.
func fstabWord(s string) string {
	return strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`).Replace(s)
}

// Where its own helper is not installed mount(8) finds that of libfuse, which calls jvsfs
// by a shell; nothing of what is given to it is a word of that shell.
func TestMount8ThroughLibfuse(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	odd := filepath.Join(m.base, "it's $(touch oops) `touch oops`; touch oops")
	require.NoError(t, os.Mkdir(odd, 0o755))
	m.installHelpers("jvsfs") // mount(8) takes PATH away, and the shell looks in its usual places
	w := workshop{t: t, dir: m.base, env: []string{}}
	m.mounted, m.wasMounted = true, true
	w.ok("/bin/mount", "-t", "fuse.jvsfs", m.Source, m.Mountpoint, "-o", m.options("nodev", "on_free=deny", "user=alice", "nofail"))
	require.Equal(t, "fuse.jvsfs", topType(t, m.Mountpoint))
	require.Contains(t, m.flags(), "nodev")
	startActor(t, "a").fails(m.put("f"), "EROFS")
	m.umount8()
	w.ok("/bin/mount", "-t", "fuse.jvsfs", odd, odd, "-o", m.options())
	require.Equal(t, "fuse.jvsfs", topType(t, odd))
	require.NoFileExists(t, filepath.Join(m.base, "oops"))
	m.system("/bin/umount", odd)
	eventually(t, "the daemon ends", func() bool { return len(processesOf(m.bin)) == 0 })
}

// A line that lets users mount: mount(8) gives its helpers no more power than the user
// has, so it is refused in a sentence. By root the line has its usual attributes.
func TestFstabUser(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	m.installHelpers("mount.fuse.jvsfs", "umount.fuse.jvsfs")
	coverFile(t, "/etc/fstab", m.Source+" "+m.Mountpoint+" fuse.jvsfs user,exec,"+m.options()+" 0 0\n")
	asUser := exec.Command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/mount", m.Mountpoint)
	said, err := asUser.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "needs root")
	require.Empty(t, topType(t, m.Mountpoint))

	m.mounted, m.wasMounted = true, true
	m.system("/bin/mount", m.Mountpoint)
	require.Subset(t, m.flags(), []string{"nosuid", "nodev"})
	require.NotContains(t, m.flags(), "noexec")
	m.umount8()
}

// A dead mount stays, for it keeps the directory below shut: umount(8) takes it away by
// force alone.
func TestUmount8OfADeadMount(t *testing.T) {
	if !ownNamespace(t) {
		return
	}
	m := prepareMount(t, mountOptions{inPlace: true, prepare: withFiles("f")})
	m.installHelpers("mount.fuse.jvsfs", "umount.fuse.jvsfs")
	m.mount8()
	m.killDaemon()
	r := m.bare("/bin/umount", m.Mountpoint)
	require.Equal(t, mountFailed, r.exit, r.errs)
	require.Contains(t, r.errs, "bares the directory below")
	startActor(t, "a").fails(m.put("f"), "ENOTCONN")
	m.system("/bin/umount", "-f", m.Mountpoint)
	m.mounted = false
}
