package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// replace runs jvsfs mount --replace with the options of the mount. It returns the daemons that
// were there before.
func (m *mount) replace() (before []int) {
	m.t.Helper()
	before = m.daemons()
	extra := m.opts.extra
	m.opts.extra = append(slices.Clone(extra), "--replace")
	m.mount()
	m.opts.extra = extra
	return before
}

// gone waits until processes have ended.
func (m *mount) gone(what string, pids []int) {
	m.t.Helper()
	eventually(m.t, what, func() bool {
		for _, pid := range pids {
			if s := procState(pid); s != "" && s != "Z" && s != "X" {
				return false
			}
		}
		return true
	})
}

// TestReplaceUnderFire: the daemon is replaced again and again, and nobody notices: no call of the
// holder fails, none of the stranger succeeds, and old daemons end when nothing is open there.
func TestReplaceUnderFire(t *testing.T) {
	m := prepareMount(t, mountOptions{inPlace: true, onFree: "deny", prepare: withFiles("f")})
	peers := m.propagate(unix.MS_SHARED)
	m.mount()
	holder, stranger := startActor(t, "holder"), startActor(t, "stranger")
	before := m.acquire(holder)
	held := startHammer(t, holder, m.At("held"), m.At("f"), filepath.Join(m.base, "stop-holder"))
	strange := startHammer(t, stranger, m.At("strange"), m.At("f"), filepath.Join(m.base, "stop-stranger"))
	for range rounds(10) {
		old := m.replace()
		m.gone("the old daemon has ended", old)
		require.Len(t, m.stack(), 1)
		_, r := m.headClaim("")
		require.Equal(t, before.Token, r.Token)
	}
	seen, other := held.end(), strange.end()
	t.Log(seen, other)
	for what := range seen {
		require.Contains(t, []string{"write ", "read "}, what)
	}
	for what := range other {
		require.Contains(t, []string{"write EROFS", "read "}, what)
	}
	require.Len(t, readText(t, m.Behind("held")), 2*seen["write "])
	for _, peer := range peers {
		require.FileExists(t, filepath.Join(peer, "held"))
	}
	m.unmount() // before its carrier goes
}

// TestReplaceDrains: what is open at the old daemon goes on there, for much longer than a lease,
// under the one token; the lease's end ends both.
func TestReplaceDrains(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", policy: hasty, prepare: withFiles("f", "g")})
	a, b := startActor(t, "a"), startActor(t, "b")
	before := m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	old := m.replace()
	renewed := before.RenewedAt
	eventually(t, "it was renewed for longer than a lease", func() bool {
		a.ok(command{Op: "write", Handle: "f", Data: []byte("x")})
		a.ok(m.put("g"))
		_, r := m.headClaim("")
		require.Equal(t, before.Token, r.Token)
		return r.RenewedAt.Sub(renewed) > 3*hasty.lease
	})
	require.Equal(t, 2, len(m.daemons()))
	exit, errs := m.tryLock("acquire", b)
	require.Equal(t, exitConflict, exit, errs)
	m.release(a)
	eventuallyNoted(t, "another acquires", func() (bool, string) { exit, errs := m.tryLock("acquire", b); return exit == 0, errs })
	a.fails(command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	a.fails(m.put("g"), "EROFS")
	b.ok(m.put("g"))
	a.ok(command{Op: "close", Handle: "f"})
	m.gone("the old daemon has ended", old)
	b.ok(m.put("g"))
}

// A holder that also writes through the old mount is not the only writer of the new one: nothing is
// believed for long there before the old one has ended.
func TestReplaceBelievesNothingForLong(t *testing.T) {
	m := newMount(t, cacheOptions("0s"))
	a := startActor(t, "a")
	m.acquire(a)
	require.LessOrEqual(t, m.lookups(m.At("f"), looks), uint64(1), "held")
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	old := m.replace()
	require.GreaterOrEqual(t, m.lookups(m.At("f"), looks), uint64(looks), "held through two mounts")
	a.ok(command{Op: "close", Handle: "f"})
	m.gone("the old daemon has ended", old)
	eventually(t, "the new mount has the only writer", func() bool { return m.lookups(m.At("f"), looks) <= 1 })
}

// The new daemon is killed while files are open at the old one: the lease goes on with the next.
func TestReplaceThenKillAndRecover(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f", "g")})
	a := startActor(t, "a")
	before := m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	old := m.replace()
	for _, pid := range m.daemons() {
		if pid != old[0] {
			require.NoError(t, unix.Kill(pid, unix.SIGKILL))
			m.gone("it is gone", []int{pid})
		}
	}
	m.recover()
	a.ok(m.put("g"))
	_, r := m.headClaim("")
	require.Equal(t, before.Token, r.Token)
	a.fails(command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS") // its leader has ended
	a.ok(command{Op: "close", Handle: "f"})
	m.gone("the old daemon has ended", old)
}

// TestReplaceThatFails: the new daemon ends before it has taken the place. The old one goes on as
// if nothing had happened.
func TestReplaceThatFails(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", policy: hasty, prepare: withFiles("f")})
	a := startActor(t, "a")
	before := m.acquire(a)
	successor, end := m.retire()
	exit, errs := m.tryLock("renew", a)
	require.Equal(t, exitBusy, exit, errs)
	require.Contains(t, errs, "just being replaced")
	a.ok(m.put("f")) // the fence is open meanwhile
	end()
	eventuallyNoted(t, "it renews again", func() (bool, string) {
		exit, errs := m.tryLock("renew", a)
		return exit == 0, errs
	})
	_, r := m.headClaim("")
	require.Equal(t, before.Token, r.Token)
	a.ok(m.put("f"))
	m.cliOK("umount", "--bare", successor.Mountpoint)
}

// The new daemon is killed in the middle. Either the old one goes on, over a dead mount that is of
// no use to anybody, or the place is the new one's already, and is recovered.
func TestReplaceKilledInTheMiddle(t *testing.T) {
	for range rounds(5) {
		m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
		a := startActor(t, "a")
		before := m.acquire(a)
		old := m.daemons()
		next := m.start(m.bin, "mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--on-free", "deny", "--log-file", m.logFile(), "--foreground", "--replace")
		for end := time.Now().Add(200 * time.Millisecond); len(m.stack()) < 2 && time.Now().Before(end); {
		}
		require.NoError(t, unix.Kill(next.pid(), unix.SIGKILL))
		next.wait()
		if out, errs, exit := m.CLI("recover", m.Mountpoint); exit == 0 {
			t.Log("the place was the new one's", out)
			m.gone("the old daemon has ended", old)
			a.ok(m.put("f"))
		} else {
			require.Contains(t, errs, "is served already")
			eventuallyNoted(t, "the old one renews", func() (bool, string) { exit, errs := m.tryLock("renew", a); return exit == 0, errs })
			a.ok(m.put("f"))
			if m.dead = len(m.stack()) == 2; m.dead {
				require.Contains(t, secondOf(m.CLI("umount", m.Mountpoint)), "a dead mount of before lies at")
			}
			t.Log("the old one goes on; over a dead one:", m.dead)
			m.CLI("doctor", "--repair") // a daemon that ended before its mount was seen leaves its state
		}
		_, r := m.headClaim("")
		require.Equal(t, before.Token, r.Token)
		m.unmount()
		a.end()
	}
}

func secondOf(_, b string, _ int) string { return b }

// A daemon that is told to end while it is being replaced ends.
func TestReplaceIsNoReasonToStay(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	first := m.daemons()[:1]
	a := startActor(t, "a")
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDONLY}) // the mount is busy
	successor, end := m.retire()
	require.NoError(t, unix.Kill(first[0], unix.SIGTERM))
	m.gone("it has ended", first)
	m.dead = true
	a.do(command{Op: "close", Handle: "f"})
	end()
	m.cliOK("umount", "--bare", successor.Mountpoint)
}

// retire asks the daemon to make way for another one, which never takes the place: end is its end.
func (m *mount) retire() (successor *mount, end func()) {
	m.t.Helper()
	first := m.daemons()
	successor = m.elsewhere() // any daemon that root may name
	conn, err := net.Dial("unix", m.socket(m.Mountpoint))
	require.NoError(m.t, err)
	dev := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(m.socket(successor.Mountpoint)), "dev-"), ".sock")
	_, err = fmt.Fprintf(conn, `{"version":1,"op":"retire","device":%q}`+"\n", strings.ReplaceAll(dev, "-", ":"))
	require.NoError(m.t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(m.t, err)
	require.Contains(m.t, line, `"event":"result"`)
	require.NotContains(m.t, line, `"error"`)
	return successor, func() {
		require.NoError(m.t, conn.Close())
		for _, p := range m.daemons() {
			if !slices.Contains(first, p) {
				_ = unix.Kill(p, unix.SIGKILL) // a command that has ended meanwhile is among them
				m.gone("the new daemon has ended", []int{p})
			}
		}
	}
}

// socket is the control socket of the mount at a place.
func (m *mount) socket(point string) string {
	m.t.Helper()
	var status struct {
		Mounts []struct{ Mountpoint, Device string }
	}
	require.NoError(m.t, json.Unmarshal([]byte(m.cliOK("status", "--json")), &status))
	for _, one := range status.Mounts {
		if one.Mountpoint == point {
			return "/run/jvsfs/dev-" + strings.ReplaceAll(one.Device, ":", "-") + ".sock"
		}
	}
	require.Fail(m.t, "no such mount", point)
	return ""
}

// Who is not root ends nobody's leases by this, and what is not served cannot be replaced.
func TestReplaceRefuses(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	_, errs, exit := m.CLI("mount", "--replace", m.base)
	require.Equal(t, 2, exit)
	require.Contains(t, errs, "no jvsfs mount to replace")
	_, errs, exit = m.CLI("mount", "--replace", m.base, m.Mountpoint)
	require.Equal(t, 2, exit)
	require.Contains(t, errs, "only that can take its place")
	stranger := startActorAs(t, "stranger", identity{uid: 1234, gid: 1234})
	_, said := stranger.run("/", "", `printf '{"version":1,"op":"retire","device":"0:1"}\n' | timeout 5 nc -U -N `+m.socket(m.Mountpoint)+` || true`)
	_ = said // nc is not everywhere; what counts is that the lease is still to be had
	a := startActor(t, "a")
	m.acquire(a)
	m.killDaemon()
	_, errs, exit = m.CLI("mount", "--replace", m.Source, m.Mountpoint)
	require.Equal(t, exitDead, exit)
	require.Contains(t, errs, "jvsfs recover")
	m.recover()
	a.ok(m.put("f"))
}

// exec goes on over a replacement, and is told of the loss by the new daemon.
func TestExecOutlivesAReplacement(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	l := newMail(m)
	b := m.startExec("echo 1 >" + m.At("f") + "; " + l.tell("begun") + "; read x <" + l.gate("go") + "; echo 2 >" + m.At("f") + "; " + l.tell("written"))
	require.Equal(t, "0", l.take("begun"))
	m.gone("the old daemon has ended", m.replace())
	eventually(t, "exec has found its lease again", func() bool { return strings.Contains(readText(t, b.file), "the lease goes on") })
	l.open("go")
	require.Equal(t, "0", l.take("written"))
	exit, errs := b.wait()
	require.Zero(t, exit, errs)
	_, r := m.headClaim("")
	require.True(t, r.Released)
	require.WithinDuration(t, time.Now(), r.ExpiresAt, patience)
}
