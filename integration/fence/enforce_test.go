package fence

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Observing decides the same as enforcing, says so everywhere by another name, and
// refuses nothing: neither what a stranger does by path and handle nor what it and the
// holder store through mappings of one file.
func TestObserveSaysWhatItWouldRefuse(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Extra: []string{"--enforce", "observe"}, Prepare: harness.WithFiles("f", "mapped")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	held := m.Acquire(a)
	b.OK(m.Put("made"))
	b.OK(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})
	b.OK(m.Move("f", "g"))
	for _, who := range []*harness.Actor{a, b} {
		who.OK(harness.Command{Op: "open", Handle: "m", Path: m.At("mapped"), Flags: unix.O_RDWR})
		who.OK(harness.Command{Op: "mmap", Handle: "m", Name: "m", Len: 4096})
	}
	for _, who := range []*harness.Actor{a, b} {
		who.OK(harness.Command{Op: "store", Name: "m", Data: []byte("stored by " + who.Name)})
		who.OK(harness.Command{Op: "msync", Name: "m"})
		text := harness.ReadText(t, m.Behind("mapped"))
		require.Equal(t, "stored by "+who.Name, text[:len("stored by a")])
	}
	st := m.WorktreeStatus("source")
	require.Zero(t, st.Refusals)
	require.NotZero(t, st.WouldRefuse)
	require.Contains(t, st.LastRefusals[0], "would be refused: E_LOCK_CONFLICT")
	require.Contains(t, st.LastRefusals[0], held.HolderID)
	require.Contains(t, m.MustCLI("status"), "WOULD REFUSE")

	x, exit := m.Explain(b.PID(), m.At("f"))
	require.Zero(t, exit)
	require.True(t, x.Allowed)
	require.True(t, x.WouldRefuse)
	require.Contains(t, x.Sentence, "only observes")
	x, _ = m.Explain(a.PID(), m.At("f"))
	require.False(t, x.WouldRefuse)

	require.Contains(t, harness.ReadText(t, m.LogFile()), `would refuse`)
	require.NotContains(t, harness.ReadText(t, m.LogFile()), `"refused"`)
	harness.Eventually(t, "what would be refused is audited", func() bool { return m.EventTypes(m.Mountpoint)["write_would_be_refused"] > 0 })
	require.Zero(t, m.EventTypes(m.Mountpoint)["write_refused"])
}

// The three modes are switched on a live mount, each way, with files open and mapped by
// the holder and by a stranger.
func TestEnforceIsSwitchedOnALiveMount(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f", "mine", "theirs")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	first := m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "mine", Path: m.At("mine"), Flags: unix.O_RDWR})
	b.Fails(m.Put("f"), "EROFS")
	require.Equal(t, m.Mountpoint+": enforce\n", m.MustCLI("enforce", m.Mountpoint))

	require.Equal(t, m.Mountpoint+": observe, was enforce; a restart goes back to enforce, which is configured\n", m.Enforce("observe"))
	b.OK(m.Put("f"))
	b.OK(harness.Command{Op: "open", Handle: "h", Path: m.At("theirs"), Flags: unix.O_RDWR})
	b.OK(harness.Command{Op: "mmap", Handle: "h", Name: "h", Len: 4096})
	b.OK(harness.Command{Op: "store", Name: "h", Data: []byte("BEFORE")})

	require.Contains(t, m.Enforce("enforce"), "enforce, was observe")
	require.Equal(t, "BEFORE", harness.ReadText(t, m.Behind("theirs"))[:6], "what was let in has landed when the switch returns")
	b.Fails(m.Put("f"), "EROFS")
	b.Fails(harness.Command{Op: "pwrite", Handle: "h", Data: []byte("AFTER!")}, "EROFS")
	b.OK(harness.Command{Op: "store", Name: "h", Data: []byte("AFTER!")})
	b.Do(harness.Command{Op: "msync", Name: "h"})
	b.Do(harness.Command{Op: "munmap", Name: "h"})
	b.Fails(harness.Command{Op: "fsync", Handle: "h"}, "EROFS", "EIO")
	require.Equal(t, "BEFORE", harness.ReadText(t, m.Behind("theirs"))[:6])
	x, _ := m.Explain(b.PID(), m.At("f"))
	require.False(t, x.Allowed)
	a.OK(harness.Command{Op: "pwrite", Handle: "mine", Data: []byte("holder")})

	require.Contains(t, m.Enforce("readonly"), "readonly, was enforce")
	before := m.Digest()
	for _, who := range []*harness.Actor{a, b} {
		who.Fails(m.Put("f"), "EROFS")
	}
	a.Fails(harness.Command{Op: "pwrite", Handle: "mine", Data: []byte("HOLDER")}, "EROFS")
	_, since := m.HeadClaim("")
	harness.Eventually(t, "the lease is renewed while nobody may write", func() bool {
		_, now := m.HeadClaim("")
		return now.RenewedAt.Sub(since.RenewedAt) > 2*harness.Hasty.Lease
	})
	require.Empty(t, before.Diff(m.Digest()))

	now := m.Modes()
	require.Equal(t, "readonly", now.Enforce)
	require.Equal(t, "enforce", now.Configured)
	require.Contains(t, now.SwitchedBy, "root")
	require.False(t, now.SwitchedAt.IsZero())
	require.Contains(t, m.MustCLI("status"), "readonly (since ")

	m.Enforce("enforce")
	require.Contains(t, m.Enforce("enforce"), "enforce already")
	a.OK(harness.Command{Op: "pwrite", Handle: "mine", Data: []byte("HOLDER")})
	_, last := m.HeadClaim("")
	require.Equal(t, first.TokenNumber(t), last.TokenNumber(t), "the same lease all along")
	expectSwitches(m, t, "enforce observe", "observe enforce", "enforce readonly", "readonly enforce")
}

// expectSwitches looks for the switches in the audit chain, and for nothing else.
func expectSwitches(m *harness.Mount, t *testing.T, want ...string) {
	t.Helper()
	var found []string
	for _, l := range m.AuditTail(m.Mountpoint) {
		if l.Type == "enforce_switch" {
			found = append(found, l.Details["from"].(string)+" "+l.Details["to"].(string))
			require.Equal(t, "root", l.Details["by_user"])
			require.Equal(t, m.Mountpoint, l.Details["mountpoint"])
		}
	}
	require.Equal(t, want, found)
	require.Contains(t, m.MustCLI("audit", "verify", m.Mountpoint), "the chain is whole")
}

// When the switch returns, no write of a stranger lands any more, at whatever point it was.
func TestNothingOfAStrangerLandsAfterTheSwitch(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Extra: []string{"--enforce", "observe"}, Prepare: harness.WithFiles("f", "mapped")})
	l := harness.NewMail(m)
	b := m.Start("sh", "-c", "cd "+m.Mountpoint+"; exec 9>>held; "+l.Tell("begun")+
		"; while ! [ -e "+l.Dir+"/end ]; do echo x >>f; echo x >&9; mkdir d; rmdir d; done 2>/dev/null; true")
	require.Equal(t, "0", l.Take("begun"))
	mapper := harness.StartActor(t, "mapper")
	mapper.OK(harness.Command{Op: "open", Handle: "m", Path: m.At("mapped"), Flags: unix.O_RDWR})
	mapper.OK(harness.Command{Op: "mmap", Handle: "m", Name: "m", Len: 4096})
	for round, to := range []string{"enforce", "readonly", "enforce", "readonly"} {
		size := int64(len(harness.ReadText(t, m.Behind("f"))))
		harness.Eventually(t, "the stranger writes", func() bool { return int64(len(harness.ReadText(t, m.Behind("f")))) > size })
		mapper.OK(harness.Command{Op: "store", Name: "m", Data: []byte{'a' + byte(round)}})
		m.Enforce(to)
		before := m.Digest()
		require.Equal(t, 'a'+byte(round), harness.ReadText(t, m.Behind("mapped"))[0], "what was stored before has landed")
		refused := m.WorktreeStatus("source").Refusals
		mapper.OK(harness.Command{Op: "store", Name: "m", Data: []byte("LATE")})
		mapper.Do(harness.Command{Op: "msync", Name: "m"})
		harness.Eventually(t, "the stranger goes on trying", func() bool { return m.WorktreeStatus("source").Refusals > refused+20 })
		require.Empty(t, before.Diff(m.Digest()), "after the switch to "+to)
		m.Enforce("observe")
	}
	require.NoError(t, os.WriteFile(l.Dir+"/end", nil, 0o644))
	exit, said := b.Wait()
	require.Zero(t, exit, said)
}

// A read-only repository is so as a whole, also where no worktree is, and that can be
// switched, too. What jvsfs keeps to itself is nobody's in any mode.
func TestAReadOnlyRepositoryRefusesWritesOutsideOfWorktreesToo(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	a.OK(harness.Command{Op: "open", Handle: "outside", Path: m.At("outside"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	m.Enforce("readonly")
	a.Fails(m.Put("outside2"), "EROFS")
	a.Fails(harness.Command{Op: "write", Handle: "outside", Data: []byte("x")}, "EROFS")
	m.Enforce("observe")
	a.OK(m.Put("outside2"))
	a.OK(harness.Command{Op: "write", Handle: "outside", Data: []byte("x")})
	a.OK(m.Put("main", "f"))
	a.OK(harness.Command{Op: "mkdir", Path: m.At("worktrees", "no name"), Mode: 0o755})
	a.OK(harness.Command{Op: "open", Handle: "unnamed", Path: m.At("worktrees", "no name", "f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	a.OK(harness.Command{Op: "write", Handle: "unnamed", Data: []byte("x")})
	a.Fails(m.Put(".jvs", "locks", "main.lock"), "EROFS")
	m.Enforce("enforce")
	a.Fails(harness.Command{Op: "write", Handle: "unnamed", Data: []byte("x")}, "EROFS")
	a.OK(harness.Command{Op: "write", Handle: "outside", Data: []byte("x")})
	a.Fails(harness.Command{Op: "rmdir", Path: m.At("worktrees", "no name")}, "EROFS")
	a.Fails(m.Put("worktrees", "a", "f"), "EROFS")
	a.OK(m.Put("outside2"))
	n := m.EventTypes(m.At("main"))
	require.Equal(t, 3, n["enforce_switch"])
}

func TestOnlyRootAndTheMounterSwitchTheMode(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot})
	user := harness.StartActorAs(t, "user", harness.Identity{UID: 1000, GID: 1000})
	exit, said := user.Run("/", "", m.Bin+" enforce "+m.Mountpoint)
	require.Zero(t, exit, said)
	require.Contains(t, said, "enforce")
	for _, mode := range []string{"observe", "readonly"} {
		exit, said = user.Run("/", "", m.Bin+" enforce "+m.Mountpoint+" "+mode)
		require.EqualValues(t, 1, exit, said)
		require.Contains(t, said, "E_NOT_PERMITTED")
	}
	require.Equal(t, "enforce", m.Modes().Enforce)
	_, errs, code := m.CLI("enforce", m.Mountpoint, "sometimes")
	require.Equal(t, harness.ExitUsage, code, errs)
	_, errs, code = m.CLI("enforce", m.Base, "observe")
	require.Equal(t, harness.ExitDead, code, errs)
	var said2 struct{ Enforce, Previous string }
	require.NoError(t, json.Unmarshal([]byte(strings.Replace(m.MustCLI("enforce", "--json", m.Mountpoint, "observe"), "enforce_previous", "previous", 1)), &said2))
	require.Equal(t, "observe", said2.Enforce)
	require.Equal(t, "enforce", said2.Previous)
}

// A switch that lets more through and cannot be audited does not happen; one that lets
// less through does.
func TestALooserModeThatCannotBeAuditedIsRefused(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	m.Enforce("enforce")
	log := m.Behind(".jvs", "audit")
	require.NoError(t, os.MkdirAll(log, 0o755))
	log += "/audit.jsonl"
	require.NoError(t, os.RemoveAll(log))
	require.NoError(t, os.Mkdir(log, 0o755))
	_, errs, exit := m.CLI("enforce", m.Mountpoint, "observe")
	require.Equal(t, harness.ExitStore, exit, errs)
	require.Contains(t, errs, "E_AUDIT_FAILED")
	require.Equal(t, "enforce", m.Modes().Enforce)
	_, errs, exit = m.CLI("enforce", m.Mountpoint, "readonly")
	require.Zero(t, exit, errs)
	require.Contains(t, errs, "could not be audited")
	require.Equal(t, "readonly", m.Modes().Enforce)
	require.NoError(t, os.Remove(log))
}

// A write of a stranger hangs in the disk: the switch is made, and says that it could
// not wait for the end of that write; asked again it waits.
func TestASwitchSaysWhatItCouldNotWaitFor(t *testing.T) {
	m, disk := harness.NewFreezable(t, harness.MountOptions{OnFree: "deny", Extra: []string{"--enforce", "observe"}})
	b := harness.StartActor(t, "b")
	b.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o644})
	disk.Freeze()
	written := disk.Hang(b, harness.Command{Op: "write", Handle: "f", Data: []byte("slow")})
	_, errs, exit := m.CLI("enforce", "--wait", "200ms", m.Mountpoint, "enforce")
	require.Equal(t, harness.ExitBusy, exit, errs)
	require.Contains(t, errs, "the mode is enforce now")
	require.Equal(t, "enforce", m.Modes().Enforce)
	disk.Thaw()
	require.Contains(t, m.Enforce("enforce"), "already")
	require.Equal(t, "slow", harness.ReadText(t, m.Behind("f")), "what was let in before has landed when the switch returns")
	require.Empty(t, (<-written).Errno)
	b.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
}
