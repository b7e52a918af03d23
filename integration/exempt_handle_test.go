package integration

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// endings are the ways in which a file stops being exempt while a stranger has it
// open. where is the name under which it is found afterwards.
func exemptEndings(m *mount) map[string]struct {
	by    command
	back  command
	where string
} {
	type ending = struct {
		by    command
		back  command
		where string
	}
	link := command{Op: "link", Path: m.At(cacheDir, "f"), To: m.At("src/new")}
	return map[string]ending{
		"the file is moved":              {m.move(cacheDir+"/f", "src/new"), m.move("src/new", cacheDir+"/f"), "src/new"},
		"its directory is moved":         {m.move(cacheDir, "src/cache"), m.move("src/cache", cacheDir), "src/cache/f"},
		"a directory far above is moved": {m.move("app", "src/app"), m.move("src/app", "app"), "src/app/cache/f"},
		"it gets another name":           {link, command{Op: "unlink", Path: m.At("src/new")}, cacheDir + "/f"},
		"it is exchanged": {
			command{Op: "rename", Path: m.At(cacheDir, "f"), To: m.At("src/f"), Flags: unix.RENAME_EXCHANGE},
			command{Op: "rename", Path: m.At(cacheDir, "f"), To: m.At("src/f"), Flags: unix.RENAME_EXCHANGE}, "src/f"},
		"it comes below .git": {
			m.move(cacheDir+"/f", cacheDir+"/repo/.git/f"), m.move(cacheDir+"/repo/.git/f", cacheDir+"/f"), cacheDir + "/repo/.git/f"},
	}
}

// A handle and a mapping from where anybody may write are worth nothing once the file
// is somewhere else, and something again once it is back.
func TestExemptHandleFollowsTheFile(t *testing.T) {
	m, holder, stranger := newCache(t)
	for name, end := range exemptEndings(m) {
		t.Run(name, func(t *testing.T) {
			stranger.ok(command{Op: "open", Handle: "h", Path: m.At(cacheDir, "f"), Flags: unix.O_RDWR})
			stranger.ok(command{Op: "mmap", Name: "m", Handle: "h", Len: 4096})
			defer func() {
				stranger.do(command{Op: "munmap", Name: "m"})
				stranger.ok(command{Op: "close", Handle: "h"})
			}()
			write := command{Op: "pwrite", Handle: "h", Off: 100, Data: []byte(name)}
			stranger.ok(write)
			stored := "stored before " + name
			stranger.ok(command{Op: "store", Name: "m", Data: []byte(stored)})
			holder.ok(end.by)
			require.True(t, strings.HasPrefix(readText(t, m.Behind(end.where)), stored), "what was stored before lands before")
			before := m.digest()

			stranger.fails(write, "EROFS")
			stranger.fails(command{Op: "ftruncate", Handle: "h", Len: 1}, "EROFS")
			stranger.fails(command{Op: "fallocate", Handle: "h", Len: 50000}, "EROFS")
			stranger.fails(command{Op: "fsync", Handle: "h"}, "EROFS")
			stranger.ok(command{Op: "store", Name: "m", Data: []byte("STORED TOO LATE")})
			stranger.fails(command{Op: "msync", Name: "m"}, "EROFS", "EIO")
			require.Empty(t, before.diff(m.digest()))
			eventually(t, "the refused store goes out of sight", func() bool {
				return strings.HasPrefix(string(holder.ok(command{Op: "readfile", Path: m.At(end.where)}).Data), stored)
			})
			holder.ok(end.back)
			stranger.ok(write)
		})
	}
}

// What was stored through a mapping while it was refused is lost, and that is said once
// although the file may be written again by then.
func TestExemptMappingSaysWhatWasLost(t *testing.T) {
	m, holder, stranger := newCache(t)
	stranger.ok(command{Op: "open", Handle: "h", Path: m.At(cacheDir, "f"), Flags: unix.O_RDWR})
	stranger.ok(command{Op: "mmap", Name: "m", Handle: "h", Len: 4096})
	for _, call := range []command{{Op: "msync", Name: "m"}, {Op: "fsync", Handle: "h"}} {
		holder.ok(m.move(cacheDir+"/f", "src/new"))
		before := m.digest()
		stranger.ok(command{Op: "store", Name: "m", Data: []byte("LOST")})
		stranger.do(command{Op: "writeout", Handle: "h"})
		require.Empty(t, before.diff(m.digest()))
		holder.ok(m.move("src/new", cacheDir+"/f"))
		stranger.fails(call, "EIO")
		stranger.ok(call)
		stranger.ok(command{Op: "store", Name: "m", Data: []byte(call.Op)})
		stranger.ok(call)
		require.True(t, strings.HasPrefix(readText(t, m.Behind(cacheDir, "f")), call.Op))
	}
}

// A stranger's lease gives its old handle nothing that the place does not.
func TestExemptHandleOfALaterHolder(t *testing.T) {
	m, holder, stranger := newCache(t)
	stranger.ok(command{Op: "open", Handle: "h", Path: m.At(cacheDir, "f"), Flags: unix.O_WRONLY})
	holder.ok(m.move(cacheDir+"/f", "src/new"))
	m.release(holder)
	m.acquire(stranger)
	stranger.fails(command{Op: "pwrite", Handle: "h", Data: []byte("late")}, "EROFS")
	stranger.ok(m.put("src/new"))
}

// A handle of a lease that is over goes on where anybody may write, and only there.
func TestExemptHandleOfAnEarlierHolder(t *testing.T) {
	m, holder, stranger := newCache(t)
	for _, path := range []string{cacheDir + "/f", "src/f"} {
		holder.ok(command{Op: "open", Handle: path, Path: m.At(path), Flags: unix.O_WRONLY})
	}
	holder.ok(command{Op: "open", Handle: "m", Path: m.At(cacheDir, "g"), Flags: unix.O_RDWR})
	holder.ok(command{Op: "mmap", Name: "m", Handle: "m", Len: 4096})
	m.release(holder)
	m.acquire(stranger)
	holder.ok(command{Op: "pwrite", Handle: cacheDir + "/f", Data: []byte("still")})
	holder.fails(command{Op: "pwrite", Handle: "src/f", Data: []byte("late")}, "EROFS")
	stranger.ok(m.move(cacheDir+"/f", "src/new"))
	holder.fails(command{Op: "pwrite", Handle: cacheDir + "/f", Data: []byte("late")}, "EROFS")

	holder.ok(command{Op: "store", Name: "m", Data: []byte("stored before")})
	stranger.ok(m.move(cacheDir+"/g", "src/g"))
	require.True(t, strings.HasPrefix(readText(t, m.Behind("src/g")), "stored before"), "what was stored before lands before")
}

// The holder's and a stranger's mapping of one file both land while it is exempt. The
// kernel names the handle that was opened last for both.
func TestExemptMappingsOfTwo(t *testing.T) {
	m, holder, stranger := newCache(t)
	for i, order := range [][]*actor{{holder, stranger}, {stranger, holder}} {
		name := []string{"f", "g"}[i]
		for _, a := range order {
			a.ok(command{Op: "open", Handle: name, Path: m.At(cacheDir, name), Flags: unix.O_RDWR})
			a.ok(command{Op: "mmap", Name: name, Handle: name, Len: 4096})
		}
		for _, a := range []*actor{holder, stranger, holder} {
			a.ok(command{Op: "store", Name: name, Data: []byte("by " + a.name + " ")})
			a.ok(command{Op: "msync", Name: name})
			require.True(t, strings.HasPrefix(readText(t, m.Behind(cacheDir, name)), "by "+a.name+" "), a.name)
		}
	}
}

// A file without a name stays its maker's, until the holder gives it one elsewhere or
// takes it out before it loses its name.
func TestExemptNamelessFiles(t *testing.T) {
	m, holder, stranger := newCache(t)
	stranger.ok(command{Op: "open", Handle: "t", Path: m.At(cacheDir), Flags: unix.O_TMPFILE | unix.O_RDWR, Mode: 0o644})
	stranger.ok(command{Op: "pwrite", Handle: "t", Data: []byte("nameless")})
	self := fmt.Sprintf("/proc/%d/fd/", stranger.pid())
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
	holder.ok(command{Op: "linkfd", Path: fd, To: m.At("src/new")})
	stranger.fails(command{Op: "pwrite", Handle: "t", Data: []byte("late")}, "EROFS")
	require.Equal(t, "nameless", readText(t, m.Behind("src/new")))
	holder.ok(command{Op: "unlink", Path: m.At("src/new")})
	stranger.fails(command{Op: "pwrite", Handle: "t", Data: []byte("late")}, "EROFS")

	// Lost in the cache a name is of no consequence; lost elsewhere it is.
	for _, out := range []bool{false, true} {
		name, dir := "g", cacheDir
		stranger.ok(command{Op: "open", Handle: "u", Path: m.At(dir, name), Flags: unix.O_WRONLY | unix.O_CREAT, Mode: 0o644})
		if out {
			holder.ok(m.move(cacheDir+"/g", "src/g"))
			holder.ok(command{Op: "unlink", Path: m.At("src/g")})
			stranger.fails(command{Op: "pwrite", Handle: "u", Data: []byte("late")}, "EROFS")
		} else {
			stranger.ok(command{Op: "unlink", Path: m.At(dir, name)})
			stranger.ok(command{Op: "pwrite", Handle: "u", Data: []byte("nameless")})
		}
		stranger.ok(command{Op: "close", Handle: "u"})
	}
	// One that is linked where anybody may write is open to all under its name.
	stranger.ok(command{Op: "tmpfile", Path: m.At(cacheDir), Mode: 0o644, To: m.At(cacheDir, "named")})
	stranger.ok(command{Op: "writefile", Path: m.At(cacheDir, "named"), Data: []byte("named")})
	require.Equal(t, "named", readText(t, m.Behind(cacheDir, "named")))
}

// repeater repeats commands until stop; what they answer is of no interest.
type repeater struct {
	quit chan struct{}
	wg   sync.WaitGroup
}

func (h *repeater) start(t *testing.T, a *actor, cs ...command) {
	h.wg.Go(func() {
		for {
			for _, c := range cs {
				if _, err := a.try(c); err != nil {
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
func TestExemptRaceWithTheBorder(t *testing.T) {
	for _, c := range []struct {
		name  string
		other bool // the holder comes through another mount
	}{{"one mount", false}, {"two mounts", true}} {
		t.Run(c.name, func(t *testing.T) {
			m, holder, stranger := newCache(t)
			n := m
			if c.other {
				n = m.second()
				m.release(holder)
				eventually(t, "the lease goes to the other mount", func() bool { exit, _ := n.tryLock("acquire", holder); return exit == 0 })
			}
			h := &repeater{quit: make(chan struct{})}
			second := startActor(t, "another stranger")
			for i, a := range []*actor{stranger, second} {
				a.ok(command{Op: "open", Handle: "h", Path: m.At(cacheDir, "f"), Flags: unix.O_RDWR})
				h.start(t, a, command{Op: "pwrite", Handle: "h", Off: 0, Data: []byte(strings.Repeat("x", 4096))},
					command{Op: "pwrite", Handle: "h", Off: 0, Data: []byte(strings.Repeat(string(rune('a'+i)), 4096))})
			}
			for _, way := range []string{"file", "directory"} {
				out, back, where := n.move(cacheDir+"/f", "src/new"), n.move("src/new", cacheDir+"/f"), m.Behind("src/new")
				if way == "directory" {
					out, back, where = n.move(cacheDir, "src/cache"), n.move("src/cache", cacheDir), m.Behind("src/cache/f")
				}
				for range 150 {
					holder.ok(out)
					// One after another: each was refused, or had landed before the move.
					first := readText(t, where)
					second := readText(t, where)
					holder.ok(back)
					require.Equal(t, first, second, "%s: it changes although it is guarded", way)
				}
			}
			h.stop()
			holder.ok(n.move(cacheDir+"/f", "src/new"))
			stranger.fails(command{Op: "pwrite", Handle: "h", Data: []byte("late")}, "EROFS")
		})
	}
}

// Whatever a name in the cache is swapped for while it is used, what is written is
// what anybody may write.
func TestExemptRaceWithSymlinks(t *testing.T) {
	m, _, swapper := newCache(t)
	writer := startActor(t, "writer")
	before := m.digest().below("src")
	h := &repeater{quit: make(chan struct{})}
	h.start(t, swapper,
		m.move(cacheDir+"/d", cacheDir+"/aside"), command{Op: "symlink", To: "../../src", Path: m.At(cacheDir, "d")},
		command{Op: "unlink", Path: m.At(cacheDir, "d")}, m.move(cacheDir+"/aside", cacheDir+"/d"))
	written := 0
	for i := range 400 {
		for _, c := range []command{
			{Op: "writefile", Path: m.At(cacheDir, "d/f"), Flags: unix.O_TRUNC, Data: []byte("late")},
			{Op: "writefile", Path: m.At(cacheDir, "d", fmt.Sprint("new", i)), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("late")},
			{Op: "rename", Path: m.At(cacheDir, "d/f"), To: m.At(cacheDir, "d/f2")},
			{Op: "rename", Path: m.At(cacheDir, "d/f2"), To: m.At(cacheDir, "d/f")},
			{Op: "unlink", Path: m.At(cacheDir, "d/g")},
		} {
			if writer.do(c).Errno == "" {
				written++
			}
		}
	}
	h.stop()
	require.NotZero(t, written)
	require.Empty(t, before.diff(m.digest().below("src")))
}
