package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// recover runs jvsfs recover at the mount point, which must serve afterwards.
func (m *mount) recover() {
	m.t.Helper()
	m.cliOK("recover", m.Mountpoint)
	m.dead = false
}

// TestRecoverUnderFire: the daemon is killed and the mount recovered fifty times, while a
// stranger and the holder write and read by path without a pause. The stranger never
// succeeds, nobody ever sees what lies below, and the holder keeps its token.
func TestRecoverUnderFire(t *testing.T) {
	for _, c := range []struct {
		name        string
		cycles      int
		inPlace     bool
		propagation uintptr
	}{
		{"private, in place", 14, true, unix.MS_PRIVATE},
		{"shared, in place", 12, true, unix.MS_SHARED},
		{"shared", 12, false, unix.MS_SHARED},
		{"slave", 12, false, unix.MS_SLAVE},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := prepareMount(t, mountOptions{inPlace: c.inPlace, onFree: "deny", prepare: withFiles("f")})
			peers := m.propagate(c.propagation)
			below := bindView(t, m.Mountpoint, filepath.Join(m.base, "below"), 0)
			m.mount()
			recoverUnderFire(t, m, c.cycles, peers)
			if !c.inPlace {
				entries, err := os.ReadDir(below)
				require.NoError(t, err)
				require.Empty(t, entries, "in the directory below the mount point")
			}
			m.unmount() // before its carrier goes
		})
	}
}

func recoverUnderFire(t *testing.T, m *mount, cycles int, peers []string) {
	holder, stranger := startActor(t, "holder"), startActor(t, "stranger")
	before := m.acquire(holder)
	held := startHammer(t, holder, m.At("held"), m.At("f"), filepath.Join(m.base, "stop-holder"))
	strange := startHammer(t, stranger, m.At("strange"), m.At("f"), filepath.Join(m.base, "stop-stranger"))
	for range rounds(cycles) {
		m.killDaemon()
		m.recover()
		require.Len(t, m.stack(), 1, "the dead mount is gone")
		_, r := m.headClaim("")
		require.Equal(t, before.Token, r.Token)
		require.False(t, r.Released)
	}
	seen, other := held.end(), strange.end()
	t.Log(seen, other)
	holder.ok(m.put("after"))
	stranger.fails(m.put("after"), "EROFS")
	// EIO is what the kernel says to the caller whose request or answer was just being copied.
	dead := []string{"ENOTCONN", "ECONNABORTED", "EIO"}
	for what := range other {
		assert.Contains(t, slices.Concat(both("write ", dead...), both("read ", dead...), []string{"write EROFS", "read "}), what)
	}
	for what := range seen {
		assert.Contains(t, slices.Concat(both("write ", dead...), both("read ", dead...), []string{"write ", "read "}), what)
	}
	require.NotZero(t, seen["write "])
	require.NotZero(t, other["write EROFS"])
	require.NoFileExists(t, m.Behind("strange"))
	landed := len(readText(t, m.Behind("held"))) / 2
	require.GreaterOrEqual(t, landed, seen["write "], "what was acknowledged is there")
	require.LessOrEqual(t, landed, seen["write "]+seen["write ECONNABORTED"]+seen["write EIO"], "what was refused is not")
	for _, peer := range peers {
		require.FileExists(t, filepath.Join(peer, "after"), "the mount came back where it is propagated to")
	}
}

// rounds is n; with the race detector, under which a process takes a second to end, a fifth.
func rounds(n int) int {
	if os.Getenv("JVSFS_RACE") == "1" {
		return n/5 + 1
	}
	return n
}

// both puts one word before each of the others.
func both(word string, others ...string) (out []string) {
	for _, o := range others {
		out = append(out, word+o)
	}
	return out
}

// propagate puts the mount point on a mount of its own, of that propagation. Of a shared one
// there is a peer, and a slave: the mount point as it is seen there is returned.
func (m *mount) propagate(how uintptr) (seen []string) {
	m.t.Helper()
	carrier := filepath.Dir(m.Mountpoint)
	bindOver(m.t, carrier, carrier, unix.MS_REC, unix.MS_SHARED)
	if how == unix.MS_SHARED {
		for _, kind := range []uintptr{unix.MS_SHARED, unix.MS_SLAVE} {
			other, err := os.MkdirTemp(scratch, "peer-")
			require.NoError(m.t, err)
			m.t.Cleanup(func() { require.NoError(m.t, os.Remove(other)) })
			bindOver(m.t, carrier, other, 0, kind)
			seen = append(seen, filepath.Join(other, filepath.Base(m.Mountpoint)))
		}
		return seen
	}
	if how == unix.MS_SLAVE { // of a master that sees nothing of it
		master := m.t.TempDir()
		bindOver(m.t, carrier, master, 0, unix.MS_SHARED)
	}
	require.NoError(m.t, unix.Mount("", carrier, "", how, ""))
	return nil
}

func bindOver(t *testing.T, from, at string, flags, propagation uintptr) {
	t.Helper()
	require.NoError(t, unix.Mount(from, at, "", unix.MS_BIND|flags, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(at, unix.MNT_DETACH)) })
	require.NoError(t, unix.Mount("", at, "", propagation, ""))
}

// stack is the types of the jvsfs mounts at the mount point.
func (m *mount) stack() []string {
	m.t.Helper()
	all, err := mountsBelow(m.Mountpoint)
	require.NoError(m.t, err)
	var ours []string
	for _, point := range all {
		if strings.Contains(point, "fuse.jvsfs") {
			ours = append(ours, point)
		}
	}
	return ours
}

// TestRecoverRevokes: who cannot go on is out, and stays out until it acquires again.
func TestRecoverRevokes(t *testing.T) {
	t.Run("too late", func(t *testing.T) {
		m := newMount(t, mountOptions{onFree: "acquire", policy: hasty, prepare: withFiles("f")})
		a, b := startActor(t, "a"), startActor(t, "b")
		m.acquire(a)
		m.killDaemon()
		m.awaitStealable("")
		m.recover()
		b.ok(m.put("f")) // takes the lease by writing: nobody holds it
		a.fails(m.put("f"), "EROFS")
		a.fails(m.put("g"), "EROFS")
	})
	t.Run("late, and again on purpose", func(t *testing.T) {
		m := newMount(t, mountOptions{onFree: "acquire", policy: hasty, prepare: withFiles("f")})
		a := startActor(t, "a")
		m.acquire(a)
		m.killDaemon()
		m.awaitStealable("")
		m.recover()
		a.fails(m.put("f"), "EROFS")
		m.killDaemon() // what a daemon knew of the revoked outlives it, too
		m.recover()
		a.fails(m.put("f"), "EROFS")
		require.EqualValues(t, "2", m.acquire(a).Token)
		a.ok(m.put("f"))
	})
	t.Run("the record changed", func(t *testing.T) {
		m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
		a := startActor(t, "a")
		m.acquire(a)
		m.killDaemon()
		m.spoilHead(with("holder_nonce", "another"))
		m.recover()
		a.fails(m.put("f"), "EROFS")
		require.Contains(t, fmt.Sprint(m.auditTail(m.At())), "superseded")
	})
	t.Run("the holder ended", func(t *testing.T) {
		m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
		a, next := startActor(t, "a"), startActor(t, "next")
		m.acquire(a)
		m.killDaemon()
		a.end()
		m.recover()
		_, r := m.headClaim("")
		require.True(t, r.Released, "nobody has to wait")
		require.EqualValues(t, "2", m.acquire(next).Token)
		next.ok(m.put("f"))
	})
}

// TestRecoverByRestart is what a unit does: the same command line again.
func TestRecoverByRestart(t *testing.T) {
	m := prepareMount(t, mountOptions{inPlace: true, onFree: "deny", prepare: withFiles("f")})
	argv := []string{m.bin, "mount", m.Source, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.logFile(), "--foreground", "--recover"}
	first := m.start(argv...)
	m.mounted, m.wasMounted = true, true
	eventually(t, "it serves", func() bool {
		_, _, exit := m.CLI("lock", "status", m.Mountpoint)
		return topType(t, m.Mountpoint) != "" && exit == 0
	})
	a := startActor(t, "a")
	before := m.acquire(a)
	require.NoError(t, unix.Kill(first.pid(), unix.SIGKILL))
	first.wait()
	a.fails(m.put("f"), "ENOTCONN", "ECONNABORTED")
	second := m.start(argv...)
	eventuallyNoted(t, "the holder writes again", func() (bool, string) {
		r := a.do(m.put("f"))
		return r.Errno == "", r.Errno + readText(t, second.file)
	})
	_, r := m.headClaim("")
	require.Equal(t, before.Token, r.Token)
	_, errs, exit := m.CLI(append(argv[1:len(argv)-2:len(argv)-2], "--recover")...)
	require.Equal(t, 2, exit)
	require.Contains(t, errs, "is served already")
	m.release(a)
	m.unmount()
	exit, said := second.wait()
	require.Zero(t, exit, said)
}

// TestRecoverRefuses what is not dead, and what would take others along.
func TestRecoverRefuses(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	_, errs, exit := m.CLI("recover", m.Mountpoint)
	require.Equal(t, 2, exit)
	require.Contains(t, errs, "is served already")

	pid := m.daemons()[0]
	require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
	_, errs, exit = m.CLI("recover", m.Mountpoint)
	require.NoError(t, unix.Kill(pid, unix.SIGCONT))
	require.Equal(t, exitDead, exit)
	require.Contains(t, errs, "it has not ended")
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})

	require.NoError(t, unix.Mount("none", m.At("d"), "tmpfs", 0, ""))
	inside, err := unix.Open(m.At("d"), unix.O_PATH|unix.O_CLOEXEC, 0) // no path leads there later
	require.NoError(t, err)
	m.killDaemon()
	_, errs, exit = m.CLI("recover", m.Mountpoint)
	require.Equal(t, exitBusy, exit)
	require.Contains(t, errs, m.At("d"))
	require.NoError(t, unix.Unmount(fmt.Sprintf("/proc/self/fd/%d", inside), unix.MNT_DETACH))
	require.NoError(t, unix.Close(inside))
	_, errs, exit = m.CLI("umount", m.Mountpoint)
	require.Equal(t, exitDead, exit)
	require.Contains(t, errs, "jvsfs recover "+m.Mountpoint)
	out, _, _ := m.CLI("recover", "--json") // others may have dead mounts here
	require.Contains(t, out, fmt.Sprintf(`"mountpoint": %q,`, m.Mountpoint))
	m.dead = false
	a.ok(m.put("f"))
	out, _, _ = m.CLI("recover", "--json")
	require.NotContains(t, out, m.Mountpoint, "it serves")
}

// TestRecoverIsNobodysToHinder: who may read the directory of the sockets cannot keep mounts
// dead by a lock on it.
func TestRecoverIsNobodysToHinder(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	m.killDaemon()
	dir, err := os.Open("/run/jvsfs")
	require.NoError(t, err)
	defer dir.Close() //nolint:errcheck // only locked
	require.NoError(t, unix.Flock(int(dir.Fd()), unix.LOCK_SH))
	m.recover()
	st, err := os.Lstat("/run/jvsfs/recover.lock")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode())
}

// TestRecoverAll: what is propagated elsewhere comes back there by itself, and is no failure.
func TestRecoverAll(t *testing.T) {
	m := prepareMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	peers := m.propagate(unix.MS_SHARED)
	m.mount()
	m.killDaemon()
	out, errs, _ := m.CLI("recover", "--json") // others may have dead mounts here
	m.dead = false
	require.Contains(t, out, m.Mountpoint, errs)
	for _, peer := range peers {
		require.NotContains(t, out, peer)
		require.FileExists(t, filepath.Join(peer, "f"))
	}
	// A bind mount is not reached by anything, and is named.
	bind := filepath.Join(m.base, "bind")
	require.NoError(t, os.Mkdir(bind, 0o755))
	bindOver(t, m.Mountpoint, bind, 0, unix.MS_PRIVATE)
	m.killDaemon()
	out = m.cliOK("recover", "--json", m.Mountpoint)
	m.dead = false
	require.Contains(t, out, bind)
	m.unmount() // before its carrier goes
}

// TestRecoverWithoutState: nothing is known of a daemon of before; the person says what to run.
func TestRecoverWithoutState(t *testing.T) {
	m := newMount(t, mountOptions{inPlace: true, onFree: "deny", prepare: withFiles("f")})
	m.killDaemon()
	files, err := filepath.Glob("/run/jvsfs/dev-*")
	require.NoError(t, err)
	for _, f := range files {
		if m.ownsState(f) {
			require.NoError(t, os.Remove(f))
		}
	}
	_, errs, exit := m.CLI("recover", m.Mountpoint)
	require.Equal(t, exitDead, exit)
	require.Contains(t, errs, "jvsfs mount --recover "+m.Source)
	m.opts.extra = []string{"--recover"}
	m.dead = false
	m.mount()
	require.Len(t, m.stack(), 1)
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(m.put("f"))
}

// ownsState tells whether a file of /run/jvsfs is of the mount at our mount point.
func (m *mount) ownsState(file string) bool {
	dev := ""
	for _, line := range strings.Split(readText(m.t, "/proc/self/mountinfo"), "\n") {
		if f := strings.Fields(line); len(f) > 4 && f[4] == m.Mountpoint {
			dev = strings.ReplaceAll(f[2], ":", "-")
		}
	}
	return strings.HasPrefix(filepath.Base(file), "dev-"+dev+".")
}

// TestExecOutlivesItsDaemon: CMD goes on when the mount comes back in time with its lease.
func TestExecOutlivesItsDaemon(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	l := newMail(m)
	for range 5 {
		_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "true")
		require.Zero(t, exit)
		require.Empty(t, errs, "nothing happened")
	}
	b := m.startExec("echo 1 >" + m.At("f") + "; " + l.tell("begun") + "; read x <" + l.gate("go") + "; echo 2 >" + m.At("f") + "; " + l.tell("written"))
	require.Equal(t, "0", l.take("begun"))
	m.killDaemon()
	eventually(t, "exec has noticed", func() bool { return strings.Contains(readText(t, b.file), "the daemon of the mount is gone") })
	m.recover()
	eventually(t, "exec has found its lease again", func() bool { return strings.Contains(readText(t, b.file), "the lease goes on") })
	l.open("go")
	require.Equal(t, "0", l.take("written"))
	exit, errs := b.wait()
	require.Zero(t, exit, errs)
	require.Equal(t, "2\n", readText(t, m.Behind("f")))
	_, r := m.headClaim("")
	require.True(t, r.Released)
}

// Without a recovery, or with one that came too late, the lease is lost as any.
func TestExecLosesWithItsDaemon(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", policy: hasty, prepare: withFiles("f")})
	l := newMail(m)
	b := m.startExec(l.tell("begun") + "; read x <" + l.gate("never"))
	require.Equal(t, "0", l.take("begun"))
	m.killDaemon()
	exit, errs := b.wait()
	require.Equal(t, exitLost, exit, errs)
	require.Contains(t, errs, "the lease was lost")
}
