package lease

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A lease is offered for long to a host that is not there, and everything that its holder
// can do meanwhile is under way: more writers than the mount has readers, more dirty
// pages than the kernel writes back at a time, a directory that is being made, and a
// rename of the worktree's root, which keeps the whole tree locked. None of them waits
// for long, and so the other worktrees go on.
func TestALongOfferDelaysNoOtherWorktree(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f", "g", "mapped")})
	defer cutIfFailed(m)
	other, holder, mapper := harness.StartActor(t, "other"), harness.StartActor(t, "holder"), harness.StartActor(t, "mapper")
	mover, maker := harness.StartActor(t, "mover"), harness.StartActor(t, "maker")
	m.Acquire(other, "main")
	mapWhole(other, m.At("main", "mapped"), 1)
	m.MustCLI("lock", "acquire", "--scope", "mount", "--pid", harness.PIDOf(holder), m.At("worktrees", "a"))
	holder.OK(m.Put("worktrees", "a", "mapped"))
	const pages = 200
	mapWhole(mapper, m.At("worktrees", "a", "mapped"), 2*pages)
	crowd := gather(m, 200, m.At("worktrees", "a", "log"))

	give := m.Start(m.Bin, "lock", "handover", "--wait", "10m", "--to-host", "nowhere", m.At("worktrees", "a"))
	harness.Eventually(t, "the offer stands", func() bool { return harness.OfferedTo(t, m, "a") == "nowhere" })
	refused := map[string]<-chan harness.Reply{
		"rename": mover.Begin(m.Move("worktrees/a", "worktrees/moved")),
		"stores": beginStores(mapper, pages),
		"mkdir":  maker.Begin(harness.Command{Op: "mkdir", Path: m.At("worktrees", "a", "d"), Mode: 0o755}),
	}
	for n, line := range []string{
		"cat " + m.At("main", "f"), "stat " + m.At("main", "g"), "stat " + m.At("worktrees", "b"),
		m.Bin + " " + strings.Join(harness.LockArgs("release", other, m.At("main")), " "),
	} {
		name := fmt.Sprintf("answer%d", n)
		m.Start("sh", "-c", line+"; "+crowd.Tell(name))
		require.Equal(t, "0", crowd.Take(name), line)
	}
	for what, done := range refused {
		select {
		case r := <-done:
			require.Equal(t, "EROFS", r.Errno, what)
		case <-time.After(harness.Patience):
			t.Fatal("it still waits: " + what)
		}
	}
	require.Equal(t, "nowhere", harness.OfferedTo(t, m, "a"), "the offer stood all the while")
	said, _, exit := m.CLI("explain", "--pid", harness.PIDOf(holder), m.At("worktrees", "a", "mapped"))
	require.Equal(t, harness.ExitConflict, exit, said)
	require.Contains(t, said, "is being handed over")

	crowd.end()
	require.NoError(t, unix.Kill(give.PID(), unix.SIGINT))
	exit, said = give.Wait()
	require.Equal(t, harness.ExitInterrupted, exit, said)
	harness.Eventually(t, "the holder writes", func() bool { return holder.Do(m.Put("worktrees", "a", "again")).Errno == "" })
	require.NotContains(t, harness.ReadText(t, m.Behind("worktrees", "a", "mapped")), "late", "what was refused has not landed")
}

// What is stored through a mapping while an offer lasts longer than a write waits is lost.
// Whoever stored it learns of that by the next msync or fsync, and nobody else by anything.
func TestAStoreLostDuringALongOfferIsReported(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("mapped")})
	holder := harness.StartActor(t, "holder")
	m.Acquire(holder)
	mapWhole(holder, m.At("mapped"), 1)
	give := m.Start(m.Bin, "lock", "handover", "--wait", "10m", "--to-host", "nowhere", m.Mountpoint)
	harness.Eventually(t, "the offer stands", func() bool { return harness.OfferedTo(t, m, "") == "nowhere" })
	write := harness.Command{Op: "pwrite", Handle: "m", Off: 100, Data: []byte("later")}
	holder.Fails(write, "EROFS") // it has waited
	holder.OK(harness.Command{Op: "store", Name: "m", Data: []byte("LOST")})
	holder.Do(harness.Command{Op: "writeout", Handle: "m"})
	require.NoError(t, unix.Kill(give.PID(), unix.SIGINT))
	exit, said := give.Wait()
	require.Equal(t, harness.ExitInterrupted, exit, said)
	harness.Eventually(t, "the holder writes", func() bool {
		r := holder.Do(write)
		require.NotEqual(t, "EIO", r.Errno, "a write has nothing to do with what was lost")
		return r.Errno == ""
	})
	holder.Fails(harness.Command{Op: "fsync", Handle: "m"}, "EIO")
	holder.OK(harness.Command{Op: "fsync", Handle: "m"})
	require.NotContains(t, harness.ReadText(t, m.Behind("mapped")), "LOST")
}

// cutIfFailed lets go of what hangs, or a failed test would hang with it.
func cutIfFailed(m *harness.Mount) {
	if m.T.Failed() {
		m.KillDaemon()
	}
}

// mapWhole maps a file, made as long as that many pages, for writing under the name m.
func mapWhole(a *harness.Actor, path string, pages int64) {
	a.T.Helper()
	size := pages * int64(os.Getpagesize())
	a.OK(harness.Command{Op: "truncate", Path: path, Len: size})
	a.OK(harness.Command{Op: "open", Handle: "m", Path: path, Flags: unix.O_RDWR})
	a.OK(harness.Command{Op: "mmap", Handle: "m", Name: "m", Len: size})
}

// beginStores stores into so many pages of m, each of which is written back by a request
// of its own, and waits for the disk; the reply is that of msync.
func beginStores(a *harness.Actor, pages int64) <-chan harness.Reply {
	done := make(chan harness.Reply, 1)
	go func() {
		for n := range pages {
			_, _ = a.Try(harness.Command{Op: "store", Name: "m", Off: 2 * n * int64(os.Getpagesize()), Data: []byte("late")})
		}
		r, err := a.Try(harness.Command{Op: "msync", Name: "m"})
		if err != nil {
			r.Errno = err.Error()
		}
		done <- r
	}()
	return done
}

// throng is many processes, each with a file of its own open for writing, that write until
// the end.
type throng struct{ harness.Mail }

func gather(m *harness.Mount, n int, path string) throng {
	m.T.Helper()
	c := throng{harness.NewMail(m)}
	m.T.Cleanup(c.end)
	// Nobody writes into the pipe. A second is waited for without a process for it: those of hundreds would keep a slow machine busy.
	m.Start("bash", "-c", fmt.Sprintf(`mkfifo %s/pause; exec 4<>%[1]s/pause; i=0; while [ $i -lt %d ]; do
		(exec 3>%s.$i; echo >>%[1]s/open; while ! [ -e %[1]s/end ]; do echo x >&3; read -t 1 -u 4; done) 2>/dev/null &
		i=$((i+1)); done; wait`, c.Dir, n, path))
	harness.Eventually(m.T, "all have opened their files", func() bool {
		text, err := os.ReadFile(c.Dir + "/open")
		return err == nil && len(text) == n
	})
	return c
}

func (c throng) end() { require.NoError(c.T, os.WriteFile(c.Dir+"/end", nil, 0o644)) }
