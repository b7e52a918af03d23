package lease

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A process whose handles are no longer good has a file mapped, and stores into it. Nobody but readers of the kernel's
// pages sees that: it never lands. Whoever came to be such a process.
func mappers() map[string]func(t *testing.T) (m *harness.Mount, a *harness.Actor, worktree string) {
	return map[string]func(*testing.T) (*harness.Mount, *harness.Actor, string){
		"the holder before": func(t *testing.T) (*harness.Mount, *harness.Actor, string) {
			m, a := mappedMount(t)
			maps(a, m.At("mapped"))
			m.Release(a)
			m.Acquire(harness.StartActor(t, "next"))
			return m, a, ""
		},
		"nobody holds it": func(t *testing.T) (*harness.Mount, *harness.Actor, string) {
			m, a := mappedMount(t)
			maps(a, m.At("mapped"))
			m.Release(a)
			return m, a, ""
		},
		"its tree became the worktree": func(t *testing.T) (*harness.Mount, *harness.Actor, string) {
			m := harness.NewMount(t, harness.MountOptions{Repository: true})
			a := harness.StartActor(t, "a")
			a.OK(harness.Command{Op: "mkdir", Path: m.At("made"), Mode: 0o755})
			a.OK(harness.Command{Op: "writefile", Path: m.At("made", "mapped"), Flags: unix.O_CREAT, Mode: 0o644, Data: harness.Body()})
			maps(a, m.At("made", "mapped"))
			a.OK(m.Move("made", "worktrees/c"))
			return m, a, "worktrees/c"
		},
		"its tree was another worktree": func(t *testing.T) (*harness.Mount, *harness.Actor, string) {
			m := harness.NewMount(t, harness.MountOptions{Repository: true})
			a := harness.StartActor(t, "a")
			a.OK(harness.Command{Op: "writefile", Path: m.At("worktrees/a", "mapped"), Flags: unix.O_CREAT, Mode: 0o644, Data: harness.Body()})
			maps(a, m.At("worktrees/a", "mapped"))
			a.OK(m.Move("worktrees/a", "worktrees/c"))
			return m, a, "worktrees/c"
		},
	}
}

// mappedMount is a mount whose lease an actor holds.
func mappedMount(t *testing.T) (*harness.Mount, *harness.Actor) {
	t.Helper()
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("mapped")})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	return m, a
}

func maps(a *harness.Actor, path string) {
	a.T.Helper()
	a.OK(harness.Command{Op: "open", Handle: "m", Path: path, Flags: unix.O_RDWR})
	a.OK(harness.Command{Op: "mmap", Handle: "m", Name: "m", Len: 4096})
}

func store(a *harness.Actor, text string) {
	a.T.Helper()
	a.OK(harness.Command{Op: "store", Name: "m", Data: []byte(text)})
}

// readBy is a command in a window that reads a file which was opened before: so it sees the kernel's pages.
func readBy(m *harness.Mount, worktree, line string) *harness.Background {
	return m.Start("sh", "-c", `exec "$0" quiesce --wait 5m --for 5m "$1" -- sh -c "$2" <"$1/mapped"`, m.Bin, m.At(worktree), line)
}

// What was stored before a window is not in the snapshot.
func TestAStoreThatNeverLandsIsInNoSnapshot(t *testing.T) {
	for name, made := range mappers() {
		t.Run(name, func(t *testing.T) {
			m, a, worktree := made(t)
			store(a, "STALE!")
			exit, said := readBy(m, worktree, "cat").Wait()
			require.Zero(t, exit, said)
			require.NotContains(t, said, "STALE!")
		})
	}
}

// What is stored while a window is open breaks it.
func TestAStoreThatNeverLandsBreaksASnapshot(t *testing.T) {
	for name, made := range mappers() {
		t.Run(name, func(t *testing.T) {
			m, a, worktree := made(t)
			l := harness.NewMail(m)
			s := readBy(m, worktree, l.Tell("quiet")+"; read x <"+l.Gate("over")+"; cat")
			l.Take("quiet")
			store(a, "LATER!")
			l.Open("over")
			exit, said := s.Wait()
			require.Equal(t, harness.ExitPartial, exit, said)
			require.Contains(t, said, "E_PARTIAL_SNAPSHOT")
			require.NotContains(t, harness.ReadText(t, m.Behind(worktree, "mapped")), "LATER!", "it has not landed")
		})
	}
}

// Where the mount only observes, what would be refused lands, but not while a window is open.
func TestAWriteThatWouldBeRefusedWaitsForTheEndOfASnapshot(t *testing.T) {
	for name, made := range mappers() {
		t.Run(name, func(t *testing.T) {
			m, a, worktree := made(t)
			l := harness.NewMail(m)
			m.MustCLI("enforce", m.Mountpoint, "observe")
			s := readBy(m, worktree, l.Tell("quiet")+"; read x <"+l.Gate("over"))
			l.Take("quiet")
			done := a.Begin(harness.Command{Op: "pwrite", Handle: "m", Data: []byte("LATER!")})
			harness.Eventually(t, "the write waits", func() bool { return strings.Contains(m.MustCLI("status", "--json"), `"waiting": 1`) })
			require.NotContains(t, harness.ReadText(t, m.Behind(worktree, "mapped")), "LATER!")
			l.Open("over")
			exit, said := s.Wait()
			require.Zero(t, exit, said)
			require.Empty(t, (<-done).Errno)
			require.Contains(t, harness.ReadText(t, m.Behind(worktree, "mapped")), "LATER!")
		})
	}
}
