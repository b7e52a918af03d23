package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A lease is offered for long to a host that is not there, and everything that its holder
// can do meanwhile is under way: more writers than the mount has readers, more dirty
// pages than the kernel writes back at a time, a directory that is being made, and a
// rename of the worktree's root, which keeps the whole tree locked. None of them waits
// for long, and so the other worktrees go on.
func TestALongOfferHoldsUpItsOwnWorktreeOnly(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", prepare: withFiles("f", "g", "mapped")})
	defer m.cutIfFailed()
	other, holder, mapper := startActor(t, "other"), startActor(t, "holder"), startActor(t, "mapper")
	mover, maker := startActor(t, "mover"), startActor(t, "maker")
	m.acquire(other, "main")
	other.mapWhole(m.At("main", "mapped"), 1)
	m.cliOK("lock", "acquire", "--scope", "mount", "--pid", pidOf(holder), m.At("worktrees", "a"))
	holder.ok(m.put("worktrees", "a", "mapped"))
	const pages = 200
	mapper.mapWhole(m.At("worktrees", "a", "mapped"), 2*pages)
	crowd := m.gather(200, m.At("worktrees", "a", "log"))

	give := m.start(m.bin, "lock", "handover", "--wait", "10m", "--to-host", "nowhere", m.At("worktrees", "a"))
	eventually(t, "the offer stands", func() bool { return offeredTo(t, m, "a") == "nowhere" })
	refused := map[string]<-chan reply{
		"rename": mover.begin(m.move("worktrees/a", "worktrees/moved")),
		"stores": mapper.beginStores(pages),
		"mkdir":  maker.begin(command{Op: "mkdir", Path: m.At("worktrees", "a", "d"), Mode: 0o755}),
	}
	for n, line := range []string{
		"cat " + m.At("main", "f"), "stat " + m.At("main", "g"), "stat " + m.At("worktrees", "b"),
		m.bin + " " + strings.Join(lockArgs("release", other, m.At("main")), " "),
	} {
		name := fmt.Sprintf("answer%d", n)
		m.start("sh", "-c", line+"; "+crowd.tell(name))
		require.Equal(t, "0", crowd.take(name), line)
	}
	for what, done := range refused {
		select {
		case r := <-done:
			require.Equal(t, "EROFS", r.Errno, what)
		case <-time.After(patience):
			t.Fatal("it still waits: " + what)
		}
	}
	require.Equal(t, "nowhere", offeredTo(t, m, "a"), "the offer stood all the while")
	said, _, exit := m.CLI("explain", "--pid", pidOf(holder), m.At("worktrees", "a", "mapped"))
	require.Equal(t, exitConflict, exit, said)
	require.Contains(t, said, "is being handed over")

	crowd.end()
	require.NoError(t, unix.Kill(give.pid(), unix.SIGINT))
	exit, said = give.wait()
	require.Equal(t, 130, exit, said)
	eventually(t, "the holder writes", func() bool { return holder.do(m.put("worktrees", "a", "again")).Errno == "" })
	require.NotContains(t, readText(t, m.Behind("worktrees", "a", "mapped")), "late", "what was refused has not landed")
}

// What is stored through a mapping while an offer lasts longer than a write waits is lost.
// Whoever stored it learns of that by the next msync or fsync, and nobody else by anything.
func TestALongOfferLosesStoresAndSaysSo(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("mapped")})
	holder := startActor(t, "holder")
	m.acquire(holder)
	holder.mapWhole(m.At("mapped"), 1)
	give := m.start(m.bin, "lock", "handover", "--wait", "10m", "--to-host", "nowhere", m.Mountpoint)
	eventually(t, "the offer stands", func() bool { return offeredTo(t, m, "") == "nowhere" })
	write := command{Op: "pwrite", Handle: "m", Off: 100, Data: []byte("later")}
	holder.fails(write, "EROFS") // it has waited
	holder.ok(command{Op: "store", Name: "m", Data: []byte("LOST")})
	holder.do(command{Op: "writeout", Handle: "m"})
	require.NoError(t, unix.Kill(give.pid(), unix.SIGINT))
	exit, said := give.wait()
	require.Equal(t, 130, exit, said)
	eventually(t, "the holder writes", func() bool {
		r := holder.do(write)
		require.NotEqual(t, "EIO", r.Errno, "a write has nothing to do with what was lost")
		return r.Errno == ""
	})
	holder.fails(command{Op: "fsync", Handle: "m"}, "EIO")
	holder.ok(command{Op: "fsync", Handle: "m"})
	require.NotContains(t, readText(t, m.Behind("mapped")), "LOST")
}

// cutIfFailed lets go of what hangs, or a failed test would hang with it.
func (m *mount) cutIfFailed() {
	if m.t.Failed() {
		m.killDaemon()
	}
}

// mapWhole maps a file, made as long as that many pages, for writing under the name m.
func (a *actor) mapWhole(path string, pages int64) {
	a.t.Helper()
	size := pages * int64(os.Getpagesize())
	a.ok(command{Op: "truncate", Path: path, Len: size})
	a.ok(command{Op: "open", Handle: "m", Path: path, Flags: unix.O_RDWR})
	a.ok(command{Op: "mmap", Handle: "m", Name: "m", Len: size})
}

// beginStores stores into so many pages of m, each of which is written back by a request
// of its own, and waits for the disk; the reply is that of msync.
func (a *actor) beginStores(pages int64) <-chan reply {
	done := make(chan reply, 1)
	go func() {
		for n := range pages {
			_, _ = a.try(command{Op: "store", Name: "m", Off: 2 * n * int64(os.Getpagesize()), Data: []byte("late")})
		}
		r, err := a.try(command{Op: "msync", Name: "m"})
		if err != nil {
			r.Errno = err.Error()
		}
		done <- r
	}()
	return done
}

// throng is many processes, each with a file of its own open for writing, that write until
// the end.
type throng struct{ mail }

func (m *mount) gather(n int, path string) throng {
	m.t.Helper()
	c := throng{newMail(m)}
	m.t.Cleanup(c.end)
	m.start("sh", "-c", fmt.Sprintf(`i=0; while [ $i -lt %d ]; do
		(exec 3>%s.$i; echo >>%s/open; while ! [ -e %[3]s/end ]; do echo x >&3; sleep 1; done) 2>/dev/null &
		i=$((i+1)); done; wait`, n, path, c.dir))
	eventually(m.t, "all have opened their files", func() bool {
		text, err := os.ReadFile(c.dir + "/open")
		return err == nil && len(text) == n
	})
	return c
}

func (c throng) end() { require.NoError(c.t, os.WriteFile(c.dir+"/end", nil, 0o644)) }
