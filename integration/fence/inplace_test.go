package fence

import (
	"bytes"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// attempt is one try of the outsider to write by path. The phases are those of
// the test at the attempt's begin and end.
type attempt struct {
	begin, end int
	errno      string
}

// attacker writes by path without a pause until told to stop. What it did in
// which phase is known afterwards.
type attacker struct {
	a    *harness.Actor
	what harness.Command
	quit chan struct{}
	done chan struct{}

	mu    sync.Mutex
	phase int
	tries []attempt
	err   error
}

func startAttacker(t *testing.T, a *harness.Actor, path string) *attacker {
	k := &attacker{a: a, quit: make(chan struct{}), done: make(chan struct{}),
		what: harness.Command{Op: "writefile", Path: path, Flags: unix.O_APPEND | unix.O_CREAT, Mode: 0o644, Data: []byte("x\n")}}
	go k.run()
	t.Cleanup(k.stop)
	return k
}

func (k *attacker) run() {
	defer close(k.done)
	for {
		select {
		case <-k.quit:
			return
		default:
		}
		begin := k.now()
		r, err := k.a.Try(k.what)
		k.mu.Lock()
		k.tries, k.err = append(k.tries, attempt{begin, k.phase, r.Errno}), err
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (k *attacker) now() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.phase
}

// enter begins the next phase; attempts that span it belong to neither.
func (k *attacker) enter(phase int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.phase = phase
}

// within are the answers of the attempts that lie wholly within a phase.
func (k *attacker) within(phase int) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errnos []string
	for _, a := range k.tries {
		if a.begin == phase && a.end == phase {
			errnos = append(errnos, a.errno)
		}
	}
	return errnos
}

// stop ends the attempts. Idempotent.
func (k *attacker) stop() {
	select {
	case <-k.quit:
	default:
		close(k.quit)
	}
	<-k.done
}

// await waits until the phase has seen n attempts.
func (k *attacker) await(t *testing.T, phase, n int) {
	t.Helper()
	harness.Eventually(t, "attempts to write", func() bool { return len(k.within(phase)) >= n })
	k.mu.Lock()
	defer k.mu.Unlock()
	require.NoError(t, k.err)
}

// Phases of the stories below.
const (
	phaseBare = iota
	phaseMounting
	phaseMounted
	phaseEnding
	phaseEnded
)

// TestInPlaceMountLetsNoWriteThroughFromMountToUmount: between the return of mount and the start of umount no
// attempt by path gets through, and each that did before has its line.
func TestInPlaceMountLetsNoWriteThroughFromMountToUmount(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	k := startAttacker(t, harness.StartActor(t, "outsider"), m.At("lines"))
	k.await(t, phaseBare, 20)
	k.enter(phaseMounting)
	m.Mount()
	k.enter(phaseMounted)
	size := fileSize(t, m.Behind("lines"))
	k.await(t, phaseMounted, 300)
	require.Equal(t, size, fileSize(t, m.Behind("lines")), "something was written while mounted")
	k.enter(phaseEnding)
	m.Unmount()
	k.enter(phaseEnded)
	k.await(t, phaseEnded, 20)
	k.stop()

	requireAll(t, k.within(phaseBare), "")
	requireAll(t, k.within(phaseMounted), "EROFS")
	requireAll(t, k.within(phaseEnded), "")
	k.requireLines(t, m.Behind("lines"))
}

// requireLines: as many lines as attempts that were told success.
func (k *attacker) requireLines(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	successes := 0
	for _, a := range k.tries {
		if a.errno == "" {
			successes++
		}
	}
	require.Equal(t, successes, bytes.Count(text, []byte("\n")))
}

func requireAll(t *testing.T, errnos []string, allowed ...string) {
	t.Helper()
	require.NotEmpty(t, errnos)
	for _, errno := range errnos {
		require.Contains(t, allowed, errno)
	}
}

func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}

// TestAKilledDaemonLeavesAMountThatRefusesEverything: after SIGKILL of the daemon nothing is unfenced. The holder and the others get the error of
// a dead mount, and the tree stays as it was.
func TestAKilledDaemonLeavesAMountThatRefusesEverything(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f", "mapped", "lines")})
	holder := harness.StartActor(t, "holder")
	m.Acquire(holder)
	holder.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	holder.OK(harness.Command{Op: "open", Handle: "mapped", Path: m.At("mapped"), Flags: unix.O_RDWR})
	holder.OK(harness.Command{Op: "mmap", Handle: "mapped", Name: "m", Len: 4096})
	k := startAttacker(t, harness.StartActor(t, "outsider"), m.At("lines"))
	k.enter(phaseMounted)
	k.await(t, phaseMounted, 20)
	before := m.Digest()

	k.enter(phaseEnding)
	m.KillDaemon()
	k.enter(phaseEnded)
	k.await(t, phaseEnded, 100)
	k.stop()
	requireAll(t, k.within(phaseMounted), "EROFS")
	requireAll(t, k.within(phaseEnded), "ENOTCONN", "ECONNABORTED")
	for _, a := range k.tries {
		assert.NotEmpty(t, a.errno, "an attempt succeeded")
	}
	deadEverywhere(holder, m)
	require.Empty(t, before.Diff(m.Digest()))
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint), "the dead mount stays")

	// Only who says so bares the directory below a dead mount.
	_, errs, exit := m.CLI("umount", m.Mountpoint)
	assert.Equal(t, harness.ExitDead, exit, errs)
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint), "the dead mount stays")
}

// TestADaemonThatCannotUnmountLeavesADeadMount: asked to end while it cannot unmount, the daemon leaves
// a dead mount behind, and not a bare directory.
func TestADaemonThatCannotUnmountLeavesADeadMount(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f", "lines")})
	holder := harness.StartActor(t, "holder")
	m.Acquire(holder)
	holder.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_RDWR})
	k := startAttacker(t, harness.StartActor(t, "outsider"), m.At("lines"))
	k.await(t, phaseBare, 20)
	before := m.Digest()
	m.EndDaemon(unix.SIGTERM)
	k.enter(phaseEnded)
	k.await(t, phaseEnded, 100)
	k.stop()
	for _, a := range k.tries {
		require.NotEmpty(t, a.errno, "an attempt succeeded")
	}
	requireAll(t, k.within(phaseEnded), "ENOTCONN", "ECONNABORTED")
	holder.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("x")}, "ENOTCONN", "ECONNABORTED")
	require.Empty(t, before.Diff(m.Digest()))
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint), "the dead mount stays")
}

// deadEverywhere tries the former holder's ways of writing at a dead mount.
func deadEverywhere(a *harness.Actor, m *harness.Mount) {
	a.T.Helper()
	dead := []string{"ENOTCONN", "ECONNABORTED"}
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("x")}, dead...)
	a.Fails(harness.Command{Op: "ftruncate", Handle: "f"}, dead...)
	a.Fails(harness.Command{Op: "truncate", Path: m.At("f")}, dead...)
	a.Fails(harness.Command{Op: "writefile", Path: m.At("new"), Flags: unix.O_CREAT, Mode: 0o644}, dead...)
	a.Fails(harness.Command{Op: "mkdir", Path: m.At("new"), Mode: 0o755}, dead...)
	a.Fails(harness.Command{Op: "rename", Path: m.At("f"), To: m.At("g")}, dead...)
	a.Fails(harness.Command{Op: "unlink", Path: m.At("f")}, dead...)
	// A store has no errno of its own; what matters is that nothing lands.
	a.Do(harness.Command{Op: "store", Name: "m", Data: []byte("STORED")})
	a.Do(harness.Command{Op: "msync", Name: "m"})
}

// After a crash a new daemon over the same source gives a larger token.
func TestTheTokenGrowsOverACrashOfTheDaemon(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	first := m.Acquire(a)
	m.KillDaemon()
	m.MustCLI("umount", m.Mountpoint, "--bare")
	m.Dead, m.Mounted = false, false
	m.Mount()
	var second harness.Record
	harness.EventuallyNoted(t, "the lease of the dead daemon is taken over", func() (bool, string) {
		exit, errs := m.TryLock("acquire", a)
		return exit == 0, errs
	})
	_, second = m.HeadClaim("")
	require.Greater(t, second.TokenNumber(t), first.TokenNumber(t))
	a.OK(m.Put("f"))
}
