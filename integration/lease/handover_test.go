package lease

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The lease goes from one process to another without a gap: the next token, no release
// in between, and nothing of the former holder lands afterwards.
func TestNoWriteOfTheFormerHolderLandsAfterAHandover(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f", "mapped")})
	a, b, c := harness.StartActor(t, "a"), harness.StartActor(t, "b"), harness.StartActor(t, "c")
	first := m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	a.OK(harness.Command{Op: "open", Handle: "m", Path: m.At("mapped"), Flags: unix.O_RDWR})
	a.OK(harness.Command{Op: "mmap", Handle: "m", Name: "m", Len: 4096})
	a.OK(harness.Command{Op: "store", Name: "m", Data: []byte("BEFORE")})
	a.OK(harness.Command{Op: "pwrite", Handle: "f", Data: []byte("BEFORE")})

	h := m.Handover("--to-pid", harness.PIDOf(b))
	require.Equal(t, first.HolderID, h.From.HolderID)
	require.Equal(t, first.TokenNumber(t), h.From.Token)
	require.Equal(t, first.TokenNumber(t)+1, h.Record.TokenNumber(t))
	require.Equal(t, first.AcquireSeq+1, h.Record.AcquireSeq)
	require.Contains(t, h.Record.HolderID, ":"+harness.PIDOf(b)+":")
	for _, name := range []string{"f", "mapped"} {
		require.Equal(t, "BEFORE", harness.ReadText(t, m.Behind(name))[:6], "what was written before has landed")
	}
	before := m.Digest()
	a.Fails(m.Put("f"), "EROFS")
	a.Fails(harness.Command{Op: "pwrite", Handle: "f", Data: []byte("AFTER!")}, "EROFS")
	a.OK(harness.Command{Op: "store", Name: "m", Data: []byte("AFTER!")})
	a.Do(harness.Command{Op: "msync", Name: "m"})
	require.Empty(t, before.Diff(m.Digest()))
	b.OK(m.Put("f"))

	h = m.Handover("--to-session", harness.PIDOf(c), "--purpose", "the night shift")
	st := m.WorktreeStatus("source")
	require.Equal(t, h.Record.TokenNumber(t), st.Token)
	require.Contains(t, m.MustCLI("lock", "status", m.Mountpoint), "the night shift")
	b.Fails(m.Put("f"), "EROFS")
	c.OK(m.Put("f"))
	m.Release(c)
	require.Equal(t, map[string]int{"lock_acquire": 1, "lock_handover": 2, "lock_release": 1}, without3(m.EventTypes(m.Mountpoint), "write_refused"))
	for _, l := range m.AuditTail(m.Mountpoint) {
		if l.Type == "lock_handover" && l.Details["fencing_token"] == 2.0 {
			require.Equal(t, first.HolderID, l.Details["from_holder_id"])
			require.EqualValues(t, 1, l.Details["previous_token"])
		}
	}
	require.Contains(t, m.MustCLI("audit", "verify", m.Mountpoint), "the chain is whole")
}

func without3(n map[string]int, kind string) map[string]int {
	delete(n, kind)
	return n
}

// A command that holds its lease by exec learns that it was handed over.
func TestExecEndsItsCommandWhenItsLeaseIsHandedOver(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	b := harness.StartActor(t, "b")
	holder := m.StartExec("echo x >" + m.At("f") + "; " + l.Tell("begun") + "; read x <" + l.Gate("never"))
	require.Equal(t, "0", l.Take("begun"))
	m.Handover("--to-pid", harness.PIDOf(b))
	exit, said := holder.Wait()
	require.Equal(t, harness.ExitLost, exit, said)
	require.Contains(t, said, "handed_over")
	b.OK(m.Put("f"))
}

// A write of the holder hangs in the disk. The handover gives up in time, and nothing has changed: the lease
// was renewed all the while, and the holder's other writer, which had to wait, continues, as does the hanging
// one.
func TestAHandoverThatIsNotInTimeChangesNothing(t *testing.T) {
	m, disk := harness.NewFreezable(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	first := m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	disk.Freeze()
	written := disk.Hang(a, harness.Command{Op: "write", Handle: "f", Data: []byte("slow")})
	_, before := m.HeadClaim("")
	_, errs, exit := m.CLI("lock", "handover", "--wait", (2 * harness.Hasty.Lease).String(), "--to-pid", harness.PIDOf(b), m.Mountpoint)
	require.Equal(t, harness.ExitConflict, exit, errs)
	require.Contains(t, errs, "nothing has changed")
	_, now := m.HeadClaim("")
	require.True(t, now.RenewedAt.After(before.ExpiresAt), "the lease was renewed meanwhile: at %s, after %s", now.RenewedAt, before.ExpiresAt)
	require.Equal(t, first.TokenNumber(t), now.TokenNumber(t))
	require.False(t, now.Released)
	disk.Thaw()
	require.Empty(t, (<-written).Errno)
	a.OK(harness.Command{Op: "pwrite", Handle: "f", Off: 4, Data: []byte(" but sure")})
	require.Equal(t, "slow but sure", harness.ReadText(t, m.Behind("f")))
	b.Fails(m.Put("f"), "EROFS")
	require.Zero(t, m.EventTypes(m.Mountpoint)["lock_handover"])

	h := m.Handover("--to-pid", harness.PIDOf(b))
	require.Equal(t, first.TokenNumber(t)+1, h.Record.TokenNumber(t))
	b.OK(m.Put("f"))
}

// Writers that come while the lease is being handed over wait, and are then of one side
// or the other: not one write of the former holder lands after the next has begun.
func TestWritersThatComeDuringAHandoverAreOfOneSide(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	l := harness.NewMail(m)
	loop := func(name string) *harness.Background {
		b := m.Start("sh", "-c", l.Tell(name)+"; while ! [ -e "+l.Dir+"/end ]; do echo "+name+" >>"+m.At("log")+"; done 2>/dev/null; true")
		require.Equal(t, "0", l.Take(name))
		return b
	}
	a, b := loop("a"), loop("b")
	pids := []string{strconv.Itoa(a.PID()), strconv.Itoa(b.PID())}
	m.MustCLI("lock", "acquire", "--pid", pids[0], m.Mountpoint)
	const rounds = 6
	for round := range rounds {
		size := func() int64 {
			st, err := os.Stat(m.Behind("log"))
			if err != nil {
				return 0
			}
			return st.Size()
		}
		before := size()
		harness.Eventually(t, "the holder writes", func() bool { return size() > before+20 })
		m.Handover("--to-pid", pids[(round+1)%2])
	}
	require.NoError(t, os.WriteFile(l.Dir+"/end", nil, 0o644))
	for _, w := range []*harness.Background{a, b} {
		exit, said := w.Wait()
		require.Zero(t, exit, said)
	}
	changes, last := 0, byte('b')
	for _, c := range []byte(harness.ReadText(t, m.Behind("log"))) {
		if c != '\n' && c != last {
			changes, last = changes+1, c
		}
	}
	require.LessOrEqual(t, changes, rounds+1, "each writes in its own turn only")
}

func TestOnlyTheHolderHandsALeaseOver(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot})
	mine := harness.Identity{UID: 1000, GID: 1000}
	holder, sibling := harness.StartActorAs(t, "holder", mine), harness.StartActorAs(t, "sibling", mine)
	other := harness.StartActorAs(t, "other", harness.Identity{UID: 1001, GID: 1001})
	m.Acquire(holder)
	give := func(by *harness.Actor, to string) (int64, string) {
		return by.Run("/", "", m.Bin+" lock handover "+to+" "+m.Mountpoint)
	}
	for _, by := range []*harness.Actor{sibling, other} {
		exit, said := give(by, "--to-pid "+harness.PIDOf(by))
		require.EqualValues(t, harness.ExitNotHeld, exit, said)
	}
	exit, said := give(holder, "--to-pid "+harness.PIDOf(holder))
	require.EqualValues(t, harness.ExitConflict, exit, said)
	exit, said = give(holder, "--to-pid "+harness.PIDOf(sibling)+" --scope mount")
	require.EqualValues(t, 1, exit, said)
	require.NoError(t, unix.Chmod(m.Source, 0o755))
	require.NoError(t, unix.Chown(m.Source, 1000, 1000))
	exit, said = give(holder, "--to-pid "+harness.PIDOf(other))
	require.EqualValues(t, 1, exit, said)
	require.Contains(t, said, "may not write")
	holder.OK(m.Put("f"))

	exit, said = give(holder, "--to-pid "+harness.PIDOf(sibling))
	require.Zero(t, exit, said)
	require.Contains(t, said, "handed over source: token 2")
	sibling.OK(m.Put("f"))
	for _, wrong := range [][]string{{}, {"--to-pid", "1", "--to-host", "h"}, {"--to-host", "h", "--purpose", "x"}, {"--to-pid", "1", "--wait", "0s"}} {
		_, errs, code := m.CLI(append([]string{"lock", "handover", m.Mountpoint}, wrong...)...)
		require.Equal(t, harness.ExitUsage, code, errs)
	}
	_, errs, code := m.CLI("lock", "handover", "--to-pid", harness.PIDOf(holder), m.Base)
	require.Equal(t, harness.ExitDead, code, errs)
}

// Two mounts of one directory stand for two hosts: the lease is offered, taken by the
// other one, and by nobody else; when nobody takes it nothing has changed.
func TestALeaseIsOfferedToAnotherMountAndTaken(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	n := m.Second()
	host, err := os.Hostname()
	require.NoError(t, err)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	first := m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})

	_, errs, exit := m.CLI("lock", "handover", "--wait", "3s", "--to-host", "nowhere", m.Mountpoint)
	require.Equal(t, harness.ExitConflict, exit, errs)
	require.Contains(t, errs, "nothing has changed")
	a.OK(harness.Command{Op: "pwrite", Handle: "f", Data: []byte("still")})

	give := m.Start(m.Bin, "lock", "handover", "--json", "--wait", "10m", "--to-host", host, m.Mountpoint)
	harness.Eventually(t, "the offer stands", func() bool { return harness.OfferedTo(t, m, "") == host })
	waiting := a.Begin(harness.Command{Op: "pwrite", Handle: "f", Data: []byte("late!")})
	harness.Eventually(t, "it is renewed while it stands", func() bool {
		_, now := m.HeadClaim("")
		return now.RenewedAt.Sub(first.RenewedAt) > 2*harness.Hasty.Lease
	})
	taken := n.Acquire(b)
	exit, said := give.Wait()
	require.Zero(t, exit, said)
	var h harness.HandedOver
	harness.RequireJSON(t, said[strings.Index(said, "{"):], &h) // behind a note that root is no holder
	require.Equal(t, first.TokenNumber(t)+1, taken.TokenNumber(t))
	require.Equal(t, taken.HolderID, h.Record.HolderID)
	require.Equal(t, first.HolderID, h.From.HolderID)
	require.Equal(t, "EROFS", (<-waiting).Errno, "the holder's write waited, and was overtaken")
	b.OK(n.Put("f"))
	a.Fails(m.Put("f"), "EROFS")
	a.Fails(harness.Command{Op: "pwrite", Handle: "f", Data: []byte("late!")}, "EROFS")
	require.Equal(t, 1, m.EventTypes(m.Mountpoint)["lock_handover"])
	n.Release(b)
	m.Acquire(a)
	a.OK(m.Put("f"))
}

// An offer is for the host that it names, for who acquires on purpose, and over at once
// when whoever made it does not want to wait any longer.
func TestAnOfferIsTakenOnlyByTheHostThatItNames(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	n := m.Second()
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a)
	// Writes wait for the first five seconds of an offer (gate/epoch_freeze.go). On a busy machine its end may come later, so there are several tries.
	harness.Eventually(t, "the holder's write waits for the end of an offer, and goes on", func() bool {
		give := m.Start(m.Bin, "lock", "handover", "--wait", "10m", "--to-host", "elsewhere", m.Mountpoint)
		harness.Eventually(t, "the offer stands", func() bool { return harness.OfferedTo(t, m, "") == "elsewhere" })
		exit, said := n.TryLock("acquire", b)
		require.Equal(t, harness.ExitConflict, exit, said)
		waiting := a.Begin(m.Put("f"))
		require.NoError(t, unix.Kill(give.PID(), unix.SIGINT))
		exit, said = give.Wait()
		require.Equal(t, harness.ExitInterrupted, exit, said)
		harness.Eventually(t, "the offer is withdrawn", func() bool { return harness.OfferedTo(t, m, "") == "" })
		r := <-waiting
		require.Contains(t, []string{"", "EROFS"}, r.Errno)
		return r.Errno == ""
	})
	a.OK(m.Put("f"))
	exit, said := n.TryLock("acquire", b)
	require.Equal(t, harness.ExitConflict, exit, said)
}
