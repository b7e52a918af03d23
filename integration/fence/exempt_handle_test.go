package fence

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// exemptEndings are the ways in which a file stops being exempt while a stranger has it
// open. where is the name under which it is found afterwards.
func exemptEndings(m *harness.Mount) map[string]struct {
	by    harness.Command
	back  harness.Command
	where string
} {
	type ending = struct {
		by    harness.Command
		back  harness.Command
		where string
	}
	link := harness.Command{Op: "link", Path: m.At(cacheDir, "f"), To: m.At("src/new")}
	return map[string]ending{
		"the file is moved":              {m.Move(cacheDir+"/f", "src/new"), m.Move("src/new", cacheDir+"/f"), "src/new"},
		"its directory is moved":         {m.Move(cacheDir, "src/cache"), m.Move("src/cache", cacheDir), "src/cache/f"},
		"a directory far above is moved": {m.Move("app", "src/app"), m.Move("src/app", "app"), "src/app/cache/f"},
		"it gets another name":           {link, harness.Command{Op: "unlink", Path: m.At("src/new")}, cacheDir + "/f"},
		"it is exchanged": {
			harness.Command{Op: "rename", Path: m.At(cacheDir, "f"), To: m.At("src/f"), Flags: unix.RENAME_EXCHANGE},
			harness.Command{Op: "rename", Path: m.At(cacheDir, "f"), To: m.At("src/f"), Flags: unix.RENAME_EXCHANGE}, "src/f"},
		"it comes below .git": {
			m.Move(cacheDir+"/f", cacheDir+"/repo/.git/f"), m.Move(cacheDir+"/repo/.git/f", cacheDir+"/f"), cacheDir + "/repo/.git/f"},
	}
}

// A handle and a mapping from where anybody may write are worth nothing once the file
// is somewhere else, and something again once it is back.
func TestAHandleOfAnExemptFileIsRefusedWhereTheFileIsNotExempt(t *testing.T) {
	m, holder, stranger := newCache(t)
	for name, end := range exemptEndings(m) {
		t.Run(name, func(t *testing.T) {
			stranger.OK(harness.Command{Op: "open", Handle: "h", Path: m.At(cacheDir, "f"), Flags: unix.O_RDWR})
			stranger.OK(harness.Command{Op: "mmap", Name: "m", Handle: "h", Len: 4096})
			defer func() {
				stranger.Do(harness.Command{Op: "munmap", Name: "m"})
				stranger.OK(harness.Command{Op: "close", Handle: "h"})
			}()
			write := harness.Command{Op: "pwrite", Handle: "h", Off: 100, Data: []byte(name)}
			stranger.OK(write)
			stored := "stored before " + name
			stranger.OK(harness.Command{Op: "store", Name: "m", Data: []byte(stored)})
			holder.OK(end.by)
			require.True(t, strings.HasPrefix(harness.ReadText(t, m.Behind(end.where)), stored), "what was stored before lands before")
			before := m.Digest()

			stranger.Fails(write, "EROFS")
			stranger.Fails(harness.Command{Op: "ftruncate", Handle: "h", Len: 1}, "EROFS")
			stranger.Fails(harness.Command{Op: "fallocate", Handle: "h", Len: 50000}, "EROFS")
			stranger.Fails(harness.Command{Op: "fsync", Handle: "h"}, "EROFS")
			stranger.OK(harness.Command{Op: "store", Name: "m", Data: []byte("STORED TOO LATE")})
			stranger.Fails(harness.Command{Op: "msync", Name: "m"}, "EROFS", "EIO")
			require.Empty(t, before.Diff(m.Digest()))
			harness.Eventually(t, "the refused store goes out of sight", func() bool {
				return strings.HasPrefix(string(holder.OK(harness.Command{Op: "readfile", Path: m.At(end.where)}).Data), stored)
			})
			holder.OK(end.back)
			stranger.OK(write)
		})
	}
}

// A store through a mapping that was refused is lost. That is reported once, although the file may be writable
// again by then.
func TestALostStoreToAnExemptFileIsReportedOnce(t *testing.T) {
	m, holder, stranger := newCache(t)
	stranger.OK(harness.Command{Op: "open", Handle: "h", Path: m.At(cacheDir, "f"), Flags: unix.O_RDWR})
	stranger.OK(harness.Command{Op: "mmap", Name: "m", Handle: "h", Len: 4096})
	for _, call := range []harness.Command{{Op: "msync", Name: "m"}, {Op: "fsync", Handle: "h"}} {
		holder.OK(m.Move(cacheDir+"/f", "src/new"))
		before := m.Digest()
		stranger.OK(harness.Command{Op: "store", Name: "m", Data: []byte("LOST")})
		stranger.Do(harness.Command{Op: "writeout", Handle: "h"})
		require.Empty(t, before.Diff(m.Digest()))
		holder.OK(m.Move("src/new", cacheDir+"/f"))
		stranger.Fails(call, "EIO")
		stranger.OK(call)
		stranger.OK(harness.Command{Op: "store", Name: "m", Data: []byte(call.Op)})
		stranger.OK(call)
		require.True(t, strings.HasPrefix(harness.ReadText(t, m.Behind(cacheDir, "f")), call.Op))
	}
}

// A stranger's lease gives its old handle nothing that the place does not.
func TestAStrangersOldExemptHandleGainsNothingByALaterLease(t *testing.T) {
	m, holder, stranger := newCache(t)
	stranger.OK(harness.Command{Op: "open", Handle: "h", Path: m.At(cacheDir, "f"), Flags: unix.O_WRONLY})
	holder.OK(m.Move(cacheDir+"/f", "src/new"))
	m.Release(holder)
	m.Acquire(stranger)
	stranger.Fails(harness.Command{Op: "pwrite", Handle: "h", Data: []byte("late")}, "EROFS")
	stranger.OK(m.Put("src/new"))
}

// A handle of a lease that is over still works where anybody may write, and only there.
func TestAnOldHoldersHandleWritesOnlyToExemptFiles(t *testing.T) {
	m, holder, stranger := newCache(t)
	for _, path := range []string{cacheDir + "/f", "src/f"} {
		holder.OK(harness.Command{Op: "open", Handle: path, Path: m.At(path), Flags: unix.O_WRONLY})
	}
	holder.OK(harness.Command{Op: "open", Handle: "m", Path: m.At(cacheDir, "g"), Flags: unix.O_RDWR})
	holder.OK(harness.Command{Op: "mmap", Name: "m", Handle: "m", Len: 4096})
	m.Release(holder)
	m.Acquire(stranger)
	holder.OK(harness.Command{Op: "pwrite", Handle: cacheDir + "/f", Data: []byte("still")})
	holder.Fails(harness.Command{Op: "pwrite", Handle: "src/f", Data: []byte("late")}, "EROFS")
	stranger.OK(m.Move(cacheDir+"/f", "src/new"))
	holder.Fails(harness.Command{Op: "pwrite", Handle: cacheDir + "/f", Data: []byte("late")}, "EROFS")

	holder.OK(harness.Command{Op: "store", Name: "m", Data: []byte("stored before")})
	stranger.OK(m.Move(cacheDir+"/g", "src/g"))
	require.True(t, strings.HasPrefix(harness.ReadText(t, m.Behind("src/g")), "stored before"), "what was stored before lands before")
}

// The holder's and a stranger's mapping of one file both land while it is exempt. The
// kernel names the handle that was opened last for both.
func TestMappingsOfHolderAndStrangerBothLandInAnExemptFile(t *testing.T) {
	m, holder, stranger := newCache(t)
	for i, order := range [][]*harness.Actor{{holder, stranger}, {stranger, holder}} {
		name := []string{"f", "g"}[i]
		for _, a := range order {
			a.OK(harness.Command{Op: "open", Handle: name, Path: m.At(cacheDir, name), Flags: unix.O_RDWR})
			a.OK(harness.Command{Op: "mmap", Name: name, Handle: name, Len: 4096})
		}
		for _, a := range []*harness.Actor{holder, stranger, holder} {
			a.OK(harness.Command{Op: "store", Name: name, Data: []byte("by " + a.Name + " ")})
			a.OK(harness.Command{Op: "msync", Name: name})
			require.True(t, strings.HasPrefix(harness.ReadText(t, m.Behind(cacheDir, name)), "by "+a.Name+" "), a.Name)
		}
	}
}

// A file without a name stays its maker's, until the holder gives it one elsewhere or
// takes it out before it loses its name.
func TestAnExemptFileWithoutANameStaysItsMakers(t *testing.T) {
	m, holder, stranger := newCache(t)
	stranger.OK(harness.Command{Op: "open", Handle: "t", Path: m.At(cacheDir), Flags: unix.O_TMPFILE | unix.O_RDWR, Mode: 0o644})
	stranger.OK(harness.Command{Op: "pwrite", Handle: "t", Data: []byte("nameless")})
	self := fmt.Sprintf("/proc/%d/fd/", stranger.PID())
	fd := ""
	fds, err := os.ReadDir(self)
	require.NoError(t, err)
	for _, e := range fds {
		if to, _ := os.Readlink(self + e.Name()); strings.HasPrefix(to, m.At(cacheDir)) {
			fd = self + e.Name()
		}
	}
	require.NotEmpty(t, fd)
	// The holder links what the stranger has made into what is guarded.
	holder.OK(harness.Command{Op: "linkto", Path: fd, To: m.At("src/new")})
	stranger.Fails(harness.Command{Op: "pwrite", Handle: "t", Data: []byte("late")}, "EROFS")
	require.Equal(t, "nameless", harness.ReadText(t, m.Behind("src/new")))
	holder.OK(harness.Command{Op: "unlink", Path: m.At("src/new")})
	stranger.Fails(harness.Command{Op: "pwrite", Handle: "t", Data: []byte("late")}, "EROFS")

	// Lost in the cache a name is of no consequence; lost elsewhere it is.
	for _, out := range []bool{false, true} {
		name, dir := "g", cacheDir
		stranger.OK(harness.Command{Op: "open", Handle: "u", Path: m.At(dir, name), Flags: unix.O_WRONLY | unix.O_CREAT, Mode: 0o644})
		if out {
			holder.OK(m.Move(cacheDir+"/g", "src/g"))
			holder.OK(harness.Command{Op: "unlink", Path: m.At("src/g")})
			stranger.Fails(harness.Command{Op: "pwrite", Handle: "u", Data: []byte("late")}, "EROFS")
		} else {
			stranger.OK(harness.Command{Op: "unlink", Path: m.At(dir, name)})
			stranger.OK(harness.Command{Op: "pwrite", Handle: "u", Data: []byte("nameless")})
		}
		stranger.OK(harness.Command{Op: "close", Handle: "u"})
	}
	// One that is linked where anybody may write is open to all under its name.
	stranger.OK(harness.Command{Op: "tmpfile", Path: m.At(cacheDir), Mode: 0o644, To: m.At(cacheDir, "named")})
	stranger.OK(harness.Command{Op: "writefile", Path: m.At(cacheDir, "named"), Data: []byte("named")})
	require.Equal(t, "named", harness.ReadText(t, m.Behind(cacheDir, "named")))
}

// repeater repeats commands until stop; what they answer is of no interest.
type repeater struct {
	quit chan struct{}
	wg   sync.WaitGroup
}

func (h *repeater) start(t *testing.T, a *harness.Actor, cs ...harness.Command) {
	h.wg.Go(func() {
		for {
			for _, c := range cs {
				if _, err := a.Try(c); err != nil {
					t.Error(err)
					return
				}
			}
			select {
			case <-h.quit:
				return
			default:
			}
		}
	})
}

func (h *repeater) stop() { close(h.quit); h.wg.Wait() }

// A stranger who writes without a pause while the file is moved out and back never
// writes to it outside, not even with the write that was under way.
func TestNoWriteLandsOnAFileThatLeavesAnExemptPlace(t *testing.T) {
	for _, c := range []struct {
		name  string
		other bool // the holder comes through another mount
	}{{"one mount", false}, {"two mounts", true}} {
		t.Run(c.name, func(t *testing.T) {
			m, holder, stranger := newCache(t)
			n := m
			if c.other {
				n = m.Second()
				m.Release(holder)
				harness.Eventually(t, "the lease goes to the other mount", func() bool { exit, _ := n.TryLock("acquire", holder); return exit == 0 })
			}
			h := &repeater{quit: make(chan struct{})}
			second := harness.StartActor(t, "another stranger")
			for i, a := range []*harness.Actor{stranger, second} {
				a.OK(harness.Command{Op: "open", Handle: "h", Path: m.At(cacheDir, "f"), Flags: unix.O_RDWR})
				h.start(t, a, harness.Command{Op: "pwrite", Handle: "h", Off: 0, Data: []byte(strings.Repeat("x", 4096))},
					harness.Command{Op: "pwrite", Handle: "h", Off: 0, Data: []byte(strings.Repeat(string(rune('a'+i)), 4096))})
			}
			for _, way := range []string{"file", "directory"} {
				out, back, where := n.Move(cacheDir+"/f", "src/new"), n.Move("src/new", cacheDir+"/f"), m.Behind("src/new")
				if way == "directory" {
					out, back, where = n.Move(cacheDir, "src/cache"), n.Move("src/cache", cacheDir), m.Behind("src/cache/f")
				}
				for range 150 {
					holder.OK(out)
					// One after another: each was refused, or had landed before the move.
					first := harness.ReadText(t, where)
					second := harness.ReadText(t, where)
					holder.OK(back)
					require.Equal(t, first, second, "%s: it changes although it is guarded", way)
				}
			}
			h.stop()
			holder.OK(n.Move(cacheDir+"/f", "src/new"))
			stranger.Fails(harness.Command{Op: "pwrite", Handle: "h", Data: []byte("late")}, "EROFS")
		})
	}
}

// A name in the cache may be replaced by anything while it is used: only files that anybody may write are
// written.
func TestNoWriteLandsThroughASymlinkOutOfAnExemptPlace(t *testing.T) {
	m, _, swapper := newCache(t)
	writer := harness.StartActor(t, "writer")
	before := m.Digest().Below("src")
	h := &repeater{quit: make(chan struct{})}
	h.start(t, swapper,
		m.Move(cacheDir+"/d", cacheDir+"/aside"), harness.Command{Op: "symlink", To: "../../src", Path: m.At(cacheDir, "d")},
		harness.Command{Op: "unlink", Path: m.At(cacheDir, "d")}, m.Move(cacheDir+"/aside", cacheDir+"/d"))
	written := 0
	for i := range 400 {
		for _, c := range []harness.Command{
			{Op: "writefile", Path: m.At(cacheDir, "d/f"), Flags: unix.O_TRUNC, Data: []byte("late")},
			{Op: "writefile", Path: m.At(cacheDir, "d", fmt.Sprint("new", i)), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("late")},
			{Op: "rename", Path: m.At(cacheDir, "d/f"), To: m.At(cacheDir, "d/f2")},
			{Op: "rename", Path: m.At(cacheDir, "d/f2"), To: m.At(cacheDir, "d/f")},
			{Op: "unlink", Path: m.At(cacheDir, "d/g")},
		} {
			if writer.Do(c).Errno == "" {
				written++
			}
		}
	}
	h.stop()
	require.NotZero(t, written)
	require.Empty(t, before.Diff(m.Digest().Below("src")))
}
