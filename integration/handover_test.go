package integration

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// handedOver is what lock handover --json prints (a part of it).
type handedOver struct {
	From struct {
		HolderID string `json:"holder_id"`
		Token    uint64 `json:"fencing_token"`
	}
	Record record
}

// handover hands the lease over as root; it must succeed.
func (m *mount) handover(args ...string) (h handedOver) {
	m.t.Helper()
	requireJSON(m.t, m.cliOK(append([]string{"lock", "handover", "--json", m.Mountpoint}, args...)...), &h)
	return h
}

// The lease goes from one process to another without a gap: the next token, no release
// in between, and nothing of the former holder lands afterwards.
func TestHandover(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f", "mapped")})
	a, b, c := startActor(t, "a"), startActor(t, "b"), startActor(t, "c")
	first := m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	a.ok(command{Op: "open", Handle: "m", Path: m.At("mapped"), Flags: unix.O_RDWR})
	a.ok(command{Op: "mmap", Handle: "m", Name: "m", Len: 4096})
	a.ok(command{Op: "store", Name: "m", Data: []byte("BEFORE")})
	a.ok(command{Op: "pwrite", Handle: "f", Data: []byte("BEFORE")})

	h := m.handover("--to-pid", pidOf(b))
	require.Equal(t, first.HolderID, h.From.HolderID)
	require.Equal(t, first.token(t), h.From.Token)
	require.Equal(t, first.token(t)+1, h.Record.token(t))
	require.Equal(t, first.AcquireSeq+1, h.Record.AcquireSeq)
	require.Contains(t, h.Record.HolderID, ":"+pidOf(b)+":")
	for _, name := range []string{"f", "mapped"} {
		require.Equal(t, "BEFORE", readText(t, m.Behind(name))[:6], "what was written before has landed")
	}
	before := m.digest()
	a.fails(m.put("f"), "EROFS")
	a.fails(command{Op: "pwrite", Handle: "f", Data: []byte("AFTER!")}, "EROFS")
	a.ok(command{Op: "store", Name: "m", Data: []byte("AFTER!")})
	a.do(command{Op: "msync", Name: "m"})
	require.Empty(t, before.diff(m.digest()))
	b.ok(m.put("f"))

	h = m.handover("--to-session", pidOf(c), "--purpose", "the night shift")
	st := m.worktreeStatus("source")
	require.Equal(t, h.Record.token(t), st.Token)
	require.Contains(t, m.cliOK("lock", "status", m.Mountpoint), "the night shift")
	b.fails(m.put("f"), "EROFS")
	c.ok(m.put("f"))
	m.release(c)
	require.Equal(t, map[string]int{"lock_acquire": 1, "lock_handover": 2, "lock_release": 1}, without3(m.eventTypes(m.Mountpoint), "write_refused"))
	for _, l := range m.auditTail(m.Mountpoint) {
		if l.Type == "lock_handover" && l.Details["fencing_token"] == 2.0 {
			require.Equal(t, first.HolderID, l.Details["from_holder_id"])
			require.EqualValues(t, 1, l.Details["previous_token"])
		}
	}
	require.Contains(t, m.cliOK("audit", "verify", m.Mountpoint), "the chain is whole")
}

func without3(n map[string]int, kind string) map[string]int {
	delete(n, kind)
	return n
}

// A command that holds its lease by exec learns that it was handed over.
func TestHandoverEndsExec(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	l := newMail(m)
	b := startActor(t, "b")
	holder := m.startExec("echo x >" + m.At("f") + "; " + l.tell("begun") + "; read x <" + l.gate("never"))
	require.Equal(t, "0", l.take("begun"))
	m.handover("--to-pid", pidOf(b))
	exit, said := holder.wait()
	require.Equal(t, exitLost, exit, said)
	require.Contains(t, said, "handed_over")
	b.ok(m.put("f"))
}

// A write of the holder hangs in the disk. The handover gives up in time, and nothing has
// changed: the lease was renewed all the while, the holder's other writer, which had to
// wait, goes on, and so does the hanging one.
func TestAHandoverThatIsNotInTimeChangesNothing(t *testing.T) {
	m, disk := newFreezable(t, mountOptions{onFree: "deny", policy: hasty})
	a, b := startActor(t, "a"), startActor(t, "b")
	first := m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	disk.freeze()
	written := disk.hang(a, command{Op: "write", Handle: "f", Data: []byte("slow")})
	began := time.Now()
	_, errs, exit := m.CLI("lock", "handover", "--wait", "2s", "--to-pid", pidOf(b), m.Mountpoint)
	require.Equal(t, exitConflict, exit, errs)
	require.Contains(t, errs, "nothing has changed")
	require.GreaterOrEqual(t, time.Since(began), 2*hasty.lease, "the lease had to be renewed meanwhile")
	_, now := m.headClaim("")
	require.Equal(t, first.token(t), now.token(t))
	require.False(t, now.Released)
	disk.thaw()
	require.Empty(t, (<-written).Errno)
	a.ok(command{Op: "pwrite", Handle: "f", Off: 4, Data: []byte(" but sure")})
	require.Equal(t, "slow but sure", readText(t, m.Behind("f")))
	b.fails(m.put("f"), "EROFS")
	require.Zero(t, m.eventTypes(m.Mountpoint)["lock_handover"])

	h := m.handover("--to-pid", pidOf(b))
	require.Equal(t, first.token(t)+1, h.Record.token(t))
	b.ok(m.put("f"))
}

// Writers that come while the lease is being handed over wait, and are then of one side
// or the other: not one write of the former holder lands after the next has begun.
func TestWritersOfBothSidesMeetInAHandover(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	l := newMail(m)
	loop := func(name string) *background {
		b := m.start("sh", "-c", l.tell(name)+"; while ! [ -e "+l.dir+"/end ]; do echo "+name+" >>"+m.At("log")+"; done 2>/dev/null; true")
		require.Equal(t, "0", l.take(name))
		return b
	}
	a, b := loop("a"), loop("b")
	pids := []string{strconv.Itoa(a.pid()), strconv.Itoa(b.pid())}
	m.cliOK("lock", "acquire", "--pid", pids[0], m.Mountpoint)
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
		eventually(t, "the holder writes", func() bool { return size() > before+20 })
		m.handover("--to-pid", pids[(round+1)%2])
	}
	require.NoError(t, os.WriteFile(l.dir+"/end", nil, 0o644))
	for _, w := range []*background{a, b} {
		exit, said := w.wait()
		require.Zero(t, exit, said)
	}
	changes, last := 0, byte('b')
	for _, c := range []byte(readText(t, m.Behind("log"))) {
		if c != '\n' && c != last {
			changes, last = changes+1, c
		}
	}
	require.LessOrEqual(t, changes, rounds+1, "each writes in its own turn only")
}

func TestWhoMayHandOver(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withOpenRoot})
	mine := identity{uid: 1000, gid: 1000}
	holder, sibling := startActorAs(t, "holder", mine), startActorAs(t, "sibling", mine)
	other := startActorAs(t, "other", identity{uid: 1001, gid: 1001})
	m.acquire(holder)
	give := func(by *actor, to string) (int64, string) {
		return by.run("/", "", m.bin+" lock handover "+to+" "+m.Mountpoint)
	}
	for _, by := range []*actor{sibling, other} {
		exit, said := give(by, "--to-pid "+pidOf(by))
		require.EqualValues(t, exitNotHeld, exit, said)
	}
	exit, said := give(holder, "--to-pid "+pidOf(holder))
	require.EqualValues(t, exitConflict, exit, said)
	exit, said = give(holder, "--to-pid "+pidOf(sibling)+" --scope mount")
	require.EqualValues(t, 1, exit, said)
	require.NoError(t, unix.Chmod(m.Source, 0o755))
	require.NoError(t, unix.Chown(m.Source, 1000, 1000))
	exit, said = give(holder, "--to-pid "+pidOf(other))
	require.EqualValues(t, 1, exit, said)
	require.Contains(t, said, "may not write")
	holder.ok(m.put("f"))

	exit, said = give(holder, "--to-pid "+pidOf(sibling))
	require.Zero(t, exit, said)
	require.Contains(t, said, "handed over source: token 2")
	sibling.ok(m.put("f"))
	for _, wrong := range [][]string{{}, {"--to-pid", "1", "--to-host", "h"}, {"--to-host", "h", "--purpose", "x"}, {"--to-pid", "1", "--wait", "0s"}} {
		_, errs, code := m.CLI(append([]string{"lock", "handover", m.Mountpoint}, wrong...)...)
		require.Equal(t, 2, code, errs)
	}
	_, errs, code := m.CLI("lock", "handover", "--to-pid", pidOf(holder), m.base)
	require.Equal(t, 16, code, errs)
}

// Two mounts of one directory stand for two hosts: the lease is offered, taken by the
// other one, and by nobody else; when nobody takes it nothing has changed.
func TestHandoverToAnotherMount(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", policy: hasty, prepare: withFiles("f")})
	n := m.second()
	host, err := os.Hostname()
	require.NoError(t, err)
	a, b := startActor(t, "a"), startActor(t, "b")
	first := m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})

	_, errs, exit := m.CLI("lock", "handover", "--wait", "500ms", "--to-host", "nowhere", m.Mountpoint)
	require.Equal(t, exitConflict, exit, errs)
	require.Contains(t, errs, "nothing has changed")
	a.ok(command{Op: "pwrite", Handle: "f", Data: []byte("still")})

	give := m.start(m.bin, "lock", "handover", "--json", "--wait", "20s", "--to-host", host, m.Mountpoint)
	eventually(t, "the offer stands", func() bool { return offeredTo(t, m, "") == host })
	waiting := a.begin(command{Op: "pwrite", Handle: "f", Data: []byte("late!")})
	eventually(t, "it is renewed while it stands", func() bool {
		_, now := m.headClaim("")
		return now.RenewedAt.Sub(first.RenewedAt) > 2*hasty.lease
	})
	taken := n.acquire(b)
	exit, said := give.wait()
	require.Zero(t, exit, said)
	var h handedOver
	requireJSON(t, said[strings.Index(said, "{"):], &h) // behind a note that root is no holder
	require.Equal(t, first.token(t)+1, taken.token(t))
	require.Equal(t, taken.HolderID, h.Record.HolderID)
	require.Equal(t, first.HolderID, h.From.HolderID)
	require.Equal(t, "EROFS", (<-waiting).Errno, "the holder's write waited, and was overtaken")
	b.ok(n.put("f"))
	a.fails(m.put("f"), "EROFS")
	a.fails(command{Op: "pwrite", Handle: "f", Data: []byte("late!")}, "EROFS")
	require.Equal(t, 1, m.eventTypes(m.Mountpoint)["lock_handover"])
	n.release(b)
	m.acquire(a)
	a.ok(m.put("f"))
}

// An offer is for the host that it names, for who acquires on purpose, and over at once
// when whoever made it does not want to wait any longer.
func TestAnOfferIsForOneHost(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f")})
	n := m.second()
	a, b := startActor(t, "a"), startActor(t, "b")
	m.acquire(a)
	give := m.start(m.bin, "lock", "handover", "--wait", "20s", "--to-host", "elsewhere", m.Mountpoint)
	eventually(t, "the offer stands", func() bool { return offeredTo(t, m, "") == "elsewhere" })
	exit, said := n.tryLock("acquire", b)
	require.Equal(t, exitConflict, exit, said)
	waiting := a.begin(m.put("f"))
	require.NoError(t, unix.Kill(give.pid(), unix.SIGINT))
	exit, said = give.wait()
	require.Equal(t, 130, exit, said)
	eventually(t, "the offer is withdrawn", func() bool { return offeredTo(t, m, "") == "" })
	require.Empty(t, (<-waiting).Errno, "the holder's write waited, and went on")
	a.ok(m.put("f"))
	exit, said = n.tryLock("acquire", b)
	require.Equal(t, exitConflict, exit, said)
}

// begin performs c without waiting for it. An actor that gives no answer has none.
func (a *actor) begin(c command) <-chan reply {
	done := make(chan reply, 1)
	go func() {
		r, err := a.try(c)
		if err != nil {
			r.Errno = err.Error()
		}
		done <- r
	}()
	return done
}

// offeredTo is the host that a worktree's record offers the lease to; id as headClaim
// takes it.
func offeredTo(t *testing.T, m *mount, id string) string {
	t.Helper()
	file, _ := m.headClaim(id)
	var r struct {
		OfferedTo string `json:"offered_to"`
	}
	requireJSON(t, readText(t, file), &r)
	return r.OfferedTo
}
