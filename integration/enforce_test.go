package integration

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// enforce switches the mode of the mount and returns what the command printed.
func (m *mount) enforce(mode string) string {
	m.t.Helper()
	return m.cliOK("enforce", m.Mountpoint, mode)
}

// modes is what status says of the mount's mode.
type modes struct {
	Mountpoint, Enforce string
	Configured          string    `json:"enforce_configured"`
	SwitchedAt          time.Time `json:"enforce_switched_at"`
	SwitchedBy          string    `json:"enforce_switched_by"`
}

func (m *mount) modes() modes {
	m.t.Helper()
	var all struct{ Mounts []modes }
	requireJSON(m.t, m.cliOK("status", "--json"), &all)
	for _, one := range all.Mounts {
		if one.Mountpoint == m.Mountpoint {
			return one
		}
	}
	m.t.Fatalf("status does not show %s", m.Mountpoint)
	return modes{}
}

func (m *mount) eventTypes(path string) map[string]int {
	m.t.Helper()
	n := map[string]int{}
	for _, l := range m.auditTail(path) {
		n[l.Type]++
	}
	return n
}

// Observing decides the same as enforcing, says so everywhere by another name, and
// refuses nothing: neither what a stranger does by path and handle nor what it and the
// holder store through mappings of one file.
func TestObserveSaysWhatItWouldRefuse(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", extra: []string{"--enforce", "observe"}, prepare: withFiles("f", "mapped")})
	a, b := startActor(t, "a"), startActor(t, "b")
	held := m.acquire(a)
	b.ok(m.put("made"))
	b.ok(command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})
	b.ok(m.move("f", "g"))
	for _, who := range []*actor{a, b} {
		who.ok(command{Op: "open", Handle: "m", Path: m.At("mapped"), Flags: unix.O_RDWR})
		who.ok(command{Op: "mmap", Handle: "m", Name: "m", Len: 4096})
	}
	for _, who := range []*actor{a, b} {
		who.ok(command{Op: "store", Name: "m", Data: []byte("stored by " + who.name)})
		who.ok(command{Op: "msync", Name: "m"})
		text := readText(t, m.Behind("mapped"))
		require.Equal(t, "stored by "+who.name, text[:len("stored by a")])
	}
	st := m.worktreeStatus("source")
	require.Zero(t, st.Refusals)
	require.NotZero(t, st.WouldRefuse)
	require.Contains(t, st.LastRefusals[0], "would be refused: E_LOCK_CONFLICT")
	require.Contains(t, st.LastRefusals[0], held.HolderID)
	require.Contains(t, m.cliOK("status"), "WOULD REFUSE")

	x, exit := m.explain(b.pid(), m.At("f"))
	require.Zero(t, exit)
	require.True(t, x.Allowed)
	require.True(t, x.WouldRefuse)
	require.Contains(t, x.Sentence, "only observes")
	x, _ = m.explain(a.pid(), m.At("f"))
	require.False(t, x.WouldRefuse)

	require.Contains(t, readText(t, m.logFile()), `would refuse`)
	require.NotContains(t, readText(t, m.logFile()), `"refused"`)
	eventually(t, "what would be refused is audited", func() bool { return m.eventTypes(m.Mountpoint)["write_would_be_refused"] > 0 })
	require.Zero(t, m.eventTypes(m.Mountpoint)["write_refused"])
}

// The three modes are switched on a live mount, each way, with files open and mapped by
// the holder and by a stranger.
func TestEnforceIsSwitchedOnALiveMount(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", policy: hasty, prepare: withFiles("f", "mine", "theirs")})
	a, b := startActor(t, "a"), startActor(t, "b")
	first := m.acquire(a)
	a.ok(command{Op: "open", Handle: "mine", Path: m.At("mine"), Flags: unix.O_RDWR})
	b.fails(m.put("f"), "EROFS")
	require.Equal(t, m.Mountpoint+": enforce\n", m.cliOK("enforce", m.Mountpoint))

	require.Equal(t, m.Mountpoint+": observe, was enforce; a restart goes back to enforce, which is configured\n", m.enforce("observe"))
	b.ok(m.put("f"))
	b.ok(command{Op: "open", Handle: "h", Path: m.At("theirs"), Flags: unix.O_RDWR})
	b.ok(command{Op: "mmap", Handle: "h", Name: "h", Len: 4096})
	b.ok(command{Op: "store", Name: "h", Data: []byte("BEFORE")})

	require.Contains(t, m.enforce("enforce"), "enforce, was observe")
	require.Equal(t, "BEFORE", readText(t, m.Behind("theirs"))[:6], "what was let in has landed when the switch returns")
	b.fails(m.put("f"), "EROFS")
	b.fails(command{Op: "pwrite", Handle: "h", Data: []byte("AFTER!")}, "EROFS")
	b.ok(command{Op: "store", Name: "h", Data: []byte("AFTER!")})
	b.do(command{Op: "msync", Name: "h"})
	b.do(command{Op: "munmap", Name: "h"})
	b.fails(command{Op: "fsync", Handle: "h"}, "EROFS", "EIO")
	require.Equal(t, "BEFORE", readText(t, m.Behind("theirs"))[:6])
	x, _ := m.explain(b.pid(), m.At("f"))
	require.False(t, x.Allowed)
	a.ok(command{Op: "pwrite", Handle: "mine", Data: []byte("holder")})

	require.Contains(t, m.enforce("readonly"), "readonly, was enforce")
	before := m.digest()
	for _, who := range []*actor{a, b} {
		who.fails(m.put("f"), "EROFS")
	}
	a.fails(command{Op: "pwrite", Handle: "mine", Data: []byte("HOLDER")}, "EROFS")
	_, since := m.headClaim("")
	eventually(t, "the lease is renewed while nobody may write", func() bool {
		_, now := m.headClaim("")
		return now.RenewedAt.Sub(since.RenewedAt) > 2*hasty.lease
	})
	require.Empty(t, before.diff(m.digest()))

	now := m.modes()
	require.Equal(t, "readonly", now.Enforce)
	require.Equal(t, "enforce", now.Configured)
	require.Contains(t, now.SwitchedBy, "root")
	require.False(t, now.SwitchedAt.IsZero())
	require.Contains(t, m.cliOK("status"), "readonly (since ")

	m.enforce("enforce")
	require.Contains(t, m.enforce("enforce"), "enforce already")
	a.ok(command{Op: "pwrite", Handle: "mine", Data: []byte("HOLDER")})
	_, last := m.headClaim("")
	require.Equal(t, first.token(t), last.token(t), "the same lease all along")
	m.expectSwitches(t, "enforce observe", "observe enforce", "enforce readonly", "readonly enforce")
}

// expectSwitches looks for the switches in the audit chain, and for nothing else.
func (m *mount) expectSwitches(t *testing.T, want ...string) {
	t.Helper()
	var found []string
	for _, l := range m.auditTail(m.Mountpoint) {
		if l.Type == "enforce_switch" {
			found = append(found, l.Details["from"].(string)+" "+l.Details["to"].(string))
			require.Equal(t, "root", l.Details["by_user"])
			require.Equal(t, m.Mountpoint, l.Details["mountpoint"])
		}
	}
	require.Equal(t, want, found)
	require.Contains(t, m.cliOK("audit", "verify", m.Mountpoint), "the chain is whole")
}

// When the switch returns, nothing of a stranger lands any more, whatever it was in the
// middle of.
func TestNothingOfAStrangerLandsAfterTheSwitch(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", extra: []string{"--enforce", "observe"}, prepare: withFiles("f", "mapped")})
	l := newMail(m)
	b := m.start("sh", "-c", "cd "+m.Mountpoint+"; exec 9>>held; "+l.tell("begun")+
		"; while ! [ -e "+l.dir+"/end ]; do echo x >>f; echo x >&9; mkdir d; rmdir d; done 2>/dev/null; true")
	require.Equal(t, "0", l.take("begun"))
	mapper := startActor(t, "mapper")
	mapper.ok(command{Op: "open", Handle: "m", Path: m.At("mapped"), Flags: unix.O_RDWR})
	mapper.ok(command{Op: "mmap", Handle: "m", Name: "m", Len: 4096})
	for round, to := range []string{"enforce", "readonly", "enforce", "readonly"} {
		size := int64(len(readText(t, m.Behind("f"))))
		eventually(t, "the stranger writes", func() bool { return int64(len(readText(t, m.Behind("f")))) > size })
		mapper.ok(command{Op: "store", Name: "m", Data: []byte{'a' + byte(round)}})
		m.enforce(to)
		before := m.digest()
		require.Equal(t, 'a'+byte(round), readText(t, m.Behind("mapped"))[0], "what was stored before has landed")
		refused := m.worktreeStatus("source").Refusals
		mapper.ok(command{Op: "store", Name: "m", Data: []byte("LATE")})
		mapper.do(command{Op: "msync", Name: "m"})
		eventually(t, "the stranger goes on trying", func() bool { return m.worktreeStatus("source").Refusals > refused+20 })
		require.Empty(t, before.diff(m.digest()), "after the switch to "+to)
		m.enforce("observe")
	}
	require.NoError(t, os.WriteFile(l.dir+"/end", nil, 0o644))
	exit, said := b.wait()
	require.Zero(t, exit, said)
}

// A read-only repository is so as a whole, also where no worktree is, and that can be
// switched, too. What jvsfs keeps to itself is nobody's in any mode.
func TestEnforceOfARepository(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", prepare: withFiles("f")})
	a := startActor(t, "a")
	a.ok(command{Op: "open", Handle: "outside", Path: m.At("outside"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	m.enforce("readonly")
	a.fails(m.put("outside2"), "EROFS")
	a.fails(command{Op: "write", Handle: "outside", Data: []byte("x")}, "EROFS")
	m.enforce("observe")
	a.ok(m.put("outside2"))
	a.ok(command{Op: "write", Handle: "outside", Data: []byte("x")})
	a.ok(m.put("main", "f"))
	a.ok(command{Op: "mkdir", Path: m.At("worktrees", "no name"), Mode: 0o755})
	a.ok(command{Op: "open", Handle: "unnamed", Path: m.At("worktrees", "no name", "f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	a.ok(command{Op: "write", Handle: "unnamed", Data: []byte("x")})
	a.fails(m.put(".jvs", "locks", "main.lock"), "EROFS")
	m.enforce("enforce")
	a.fails(command{Op: "write", Handle: "unnamed", Data: []byte("x")}, "EROFS")
	a.ok(command{Op: "write", Handle: "outside", Data: []byte("x")})
	a.fails(command{Op: "rmdir", Path: m.At("worktrees", "no name")}, "EROFS")
	a.fails(m.put("worktrees", "a", "f"), "EROFS")
	a.ok(m.put("outside2"))
	n := m.eventTypes(m.At("main"))
	require.Equal(t, 3, n["enforce_switch"])
}

func TestWhoMaySwitch(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withOpenRoot})
	user := startActorAs(t, "user", identity{uid: 1000, gid: 1000})
	exit, said := user.run("/", "", m.bin+" enforce "+m.Mountpoint)
	require.Zero(t, exit, said)
	require.Contains(t, said, "enforce")
	for _, mode := range []string{"observe", "readonly"} {
		exit, said = user.run("/", "", m.bin+" enforce "+m.Mountpoint+" "+mode)
		require.EqualValues(t, 1, exit, said)
		require.Contains(t, said, "E_NOT_PERMITTED")
	}
	require.Equal(t, "enforce", m.modes().Enforce)
	_, errs, code := m.CLI("enforce", m.Mountpoint, "sometimes")
	require.Equal(t, 2, code, errs)
	_, errs, code = m.CLI("enforce", m.base, "observe")
	require.Equal(t, 16, code, errs)
	var said2 struct{ Enforce, Previous string }
	require.NoError(t, json.Unmarshal([]byte(strings.Replace(m.cliOK("enforce", "--json", m.Mountpoint, "observe"), "enforce_previous", "previous", 1)), &said2))
	require.Equal(t, "observe", said2.Enforce)
	require.Equal(t, "enforce", said2.Previous)
}

// A switch that lets more through and cannot be audited does not happen; one that lets
// less through does.
func TestASwitchThatCannotBeAudited(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", prepare: withFiles("f")})
	m.enforce("enforce")
	log := m.Behind(".jvs", "audit")
	require.NoError(t, os.MkdirAll(log, 0o755))
	log += "/audit.jsonl"
	require.NoError(t, os.RemoveAll(log))
	require.NoError(t, os.Mkdir(log, 0o755))
	_, errs, exit := m.CLI("enforce", m.Mountpoint, "observe")
	require.Equal(t, 15, exit, errs)
	require.Contains(t, errs, "E_AUDIT_FAILED")
	require.Equal(t, "enforce", m.modes().Enforce)
	_, errs, exit = m.CLI("enforce", m.Mountpoint, "readonly")
	require.Zero(t, exit, errs)
	require.Contains(t, errs, "could not be audited")
	require.Equal(t, "readonly", m.modes().Enforce)
	require.NoError(t, os.Remove(log))
}

// A write of a stranger hangs in the disk: the switch is made, and says that it could
// not wait for the end of that write; asked again it waits.
func TestASwitchSaysWhatItCouldNotWaitFor(t *testing.T) {
	m, disk := newFreezable(t, mountOptions{onFree: "deny", extra: []string{"--enforce", "observe"}})
	b := startActor(t, "b")
	b.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	disk.freeze()
	written := disk.hang(b, command{Op: "write", Handle: "f", Data: []byte("slow")})
	_, errs, exit := m.CLI("enforce", "--wait", "200ms", m.Mountpoint, "enforce")
	require.Equal(t, exitBusy, exit, errs)
	require.Contains(t, errs, "the mode is enforce now")
	require.Equal(t, "enforce", m.modes().Enforce)
	disk.thaw()
	require.Contains(t, m.enforce("enforce"), "already")
	require.Equal(t, "slow", readText(t, m.Behind("f")), "what was let in before has landed when the switch returns")
	require.Empty(t, (<-written).Errno)
	b.fails(command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
}
