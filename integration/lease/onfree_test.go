package lease

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The default: the first writer's session takes the lease for itself, others
// are refused while it writes, and its end gives the lease back.
func TestTheFirstWriterTakesAFreeLeaseAndItsEndGivesItBack(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	first, second := harness.StartActor(t, "first"), harness.StartActor(t, "second")
	first.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	first.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("first")})
	_, mine := m.HeadClaim("")
	second.Fails(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY}, "EROFS")
	second.Fails(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EROFS")
	require.Equal(t, "first", string(second.OK(harness.Command{Op: "readfile", Path: m.At("f")}).Data[:5]))

	exit, errs := m.TryLock("acquire", second)
	require.Equal(t, harness.ExitConflict, exit, errs)
	require.Contains(t, errs, "E_LOCK_CONFLICT")

	first.End()
	harness.EventuallyNoted(t, "the second session may write", func() (bool, string) {
		r := second.Do(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
		return r.Errno == "", r.Errno
	})
	second.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("again")})
	_, theirs := m.HeadClaim("")
	require.Greater(t, theirs.TokenNumber(t), mine.TokenNumber(t))
}

// A descendant of the session's leader belongs to the session and is no
// second writer; the open handle keeps the lease although nobody writes.
func TestAnOpenHandleKeepsAnAutomaticLease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	first, second := harness.StartActor(t, "first"), harness.StartActor(t, "second")
	first.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	_, before := m.HeadClaim("")
	// Idle for more than a lease, seen by the renewals that happen meanwhile.
	harness.Eventually(t, "the lease outlives its first length", func() bool {
		_, now := m.HeadClaim("")
		return now.RenewedAt.Sub(before.RenewedAt) > 2*harness.Hasty.Lease
	})
	second.Fails(harness.Command{Op: "truncate", Path: m.At("f"), Len: 1}, "EROFS")
	first.OK(harness.Command{Op: "close", Handle: "f"})
	harness.EventuallyNoted(t, "the idle session gives the lease back", func() (bool, string) {
		r := second.Do(harness.Command{Op: "truncate", Path: m.At("f"), Len: 1})
		return r.Errno == "", r.Errno
	})
}

// A process that lost a lease by expiry, and another had it since, does not take the next one by another write.
// It must acquire on purpose.
func TestAProcessThatLostItsLeaseTakesNoneByWriting(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "revoked")
	first := m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	a.Stop()
	m.AwaitStealable("")
	next := harness.StartActor(t, "next")
	m.Acquire(next)
	m.Release(next)
	before := m.Digest()
	a.Resume()
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	a.Fails(harness.Command{Op: "writefile", Path: m.At("f"), Data: []byte("late")}, "EROFS")
	a.Fails(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EROFS")
	require.Empty(t, before.Diff(m.Digest()))

	second := m.Acquire(a)
	require.Greater(t, second.TokenNumber(t), first.TokenNumber(t))
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	a.OK(harness.Command{Op: "writefile", Path: m.At("f"), Data: []byte("new epoch")})
}

// Tokens grow over release, as other tools count on them to.
func TestTokensGrowOverARelease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	var last uint64
	for range 3 {
		for _, who := range []*harness.Actor{a, b} {
			token := m.Acquire(who).TokenNumber(t)
			require.Greater(t, token, last)
			last = token
			again := m.Acquire(who)
			require.Equal(t, token, again.TokenNumber(t), "a second acquire of the holder is the same lease")
			m.Release(who)
		}
	}
	exit, errs := m.TryLock("release", a)
	require.Equal(t, harness.ExitNotHeld, exit, errs)
}

// A holder that ends gives back at once, long before its lease would end.
func TestAHolderThatEndsGivesItsLeaseBackAtOnce(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	first := m.Acquire(a)
	a.OK(m.Put("f"))
	exit, errs := m.TryLock("acquire", b)
	require.Equal(t, harness.ExitConflict, exit, errs)
	a.End()
	harness.EventuallyNoted(t, "the next may acquire", func() (bool, string) {
		exit, errs := m.TryLock("acquire", b)
		return exit == 0, errs
	})
	_, second := m.HeadClaim("")
	require.Greater(t, second.TokenNumber(t), first.TokenNumber(t))
	b.OK(m.Put("f"))
}

// Not even who knows the commands robs a living holder.
func TestAStealFromALivingHolderIsRefused(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a)
	exit, errs := m.TryLock("steal", b)
	require.Equal(t, harness.ExitConflict, exit, errs)
	exit, errs = m.TryLock("release", b)
	require.Equal(t, harness.ExitNotHeld, exit, errs)
	exit, errs = m.TryLock("renew", b)
	require.Equal(t, harness.ExitNotHeld, exit, errs)
	b.Fails(m.Put("f"), "EROFS")
	a.OK(m.Put("f"))
}
