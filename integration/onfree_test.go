package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The default: the first writer's session takes the lease for itself, others
// are refused while it writes, and its end gives the lease back.
func TestOnFreeAcquire(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	first, second := startActor(t, "first"), startActor(t, "second")
	first.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	first.ok(command{Op: "write", Handle: "f", Data: []byte("first")})
	_, mine := m.headClaim("")
	second.fails(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY}, "EROFS")
	second.fails(command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EROFS")
	require.Equal(t, "first", string(second.ok(command{Op: "readfile", Path: m.At("f")}).Data[:5]))

	exit, errs := m.tryLock("acquire", second)
	require.Equal(t, exitConflict, exit, errs)
	require.Contains(t, errs, "E_LOCK_CONFLICT")

	first.end()
	eventuallyNoted(t, "the second session may write", func() (bool, string) {
		r := second.do(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
		return r.Errno == "", r.Errno
	})
	second.ok(command{Op: "write", Handle: "f", Data: []byte("again")})
	_, theirs := m.headClaim("")
	require.Greater(t, theirs.token(t), mine.token(t))
}

// A descendant of the session's leader belongs to the session and is no
// second writer; the open handle keeps the lease although nobody writes.
func TestOnFreeAcquireKeepsWhileOpen(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	first, second := startActor(t, "first"), startActor(t, "second")
	first.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	_, before := m.headClaim("")
	// Idle for more than a lease, seen by the renewals that happen meanwhile.
	eventually(t, "the lease outlives its first length", func() bool {
		_, now := m.headClaim("")
		return now.RenewedAt.Sub(before.RenewedAt) > 2*hasty.lease
	})
	second.fails(command{Op: "truncate", Path: m.At("f"), Len: 1}, "EROFS")
	first.ok(command{Op: "close", Handle: "f"})
	eventuallyNoted(t, "the idle session gives the lease back", func() (bool, string) {
		r := second.do(command{Op: "truncate", Path: m.At("f"), Len: 1})
		return r.Errno == "", r.Errno
	})
}

// Who lost a lease by expiry does not take the next one by writing on: only a
// new acquire on purpose lets it write again.
func TestOnFreeAcquireRevoked(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	a := startActor(t, "revoked")
	first := m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	a.stop()
	m.awaitStealable("")
	before := m.digest()
	a.resume()
	a.fails(command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	a.fails(command{Op: "writefile", Path: m.At("f"), Data: []byte("late")}, "EROFS")
	a.fails(command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EROFS")
	require.Empty(t, before.diff(m.digest()))

	second := m.acquire(a)
	require.Greater(t, second.token(t), first.token(t))
	a.fails(command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	a.ok(command{Op: "writefile", Path: m.At("f"), Data: []byte("new epoch")})
}

// Tokens grow over release, as other tools count on them to.
func TestTokensGrow(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	var last uint64
	for range 3 {
		for _, who := range []*actor{a, b} {
			token := m.acquire(who).token(t)
			require.Greater(t, token, last)
			last = token
			again := m.acquire(who)
			require.Equal(t, token, again.token(t), "a second acquire of the holder is the same lease")
			m.release(who)
		}
	}
	exit, errs := m.tryLock("release", a)
	require.Equal(t, exitNotHeld, exit, errs)
}

// A holder that ends gives back at once, long before its lease would end.
func TestHolderGone(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	first := m.acquire(a)
	a.ok(m.put("f"))
	exit, errs := m.tryLock("acquire", b)
	require.Equal(t, exitConflict, exit, errs)
	a.end()
	eventuallyNoted(t, "the next may acquire", func() (bool, string) {
		exit, errs := m.tryLock("acquire", b)
		return exit == 0, errs
	})
	_, second := m.headClaim("")
	require.Greater(t, second.token(t), first.token(t))
	b.ok(m.put("f"))
}

// Not even who knows the commands robs a living holder.
func TestStealOfTheLivingIsRefused(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	m.acquire(a)
	exit, errs := m.tryLock("steal", b)
	require.Equal(t, exitConflict, exit, errs)
	exit, errs = m.tryLock("release", b)
	require.Equal(t, exitNotHeld, exit, errs)
	exit, errs = m.tryLock("renew", b)
	require.Equal(t, exitNotHeld, exit, errs)
	b.fails(m.put("f"), "EROFS")
	a.ok(m.put("f"))
}
