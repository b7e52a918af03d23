package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// wide takes the lease of a worktree for everybody who comes through the mount.
func (m *mount) wide(a *actor, worktree ...string) {
	m.t.Helper()
	m.cliOK("lock", "acquire", "--scope", "mount", "--pid", pidOf(a), m.At(worktree...))
}

// beside mounts another source with a daemon of its own; rel is below the repository.
func (m *mount) beside(rel, name string) *mount {
	m.t.Helper()
	n := *m
	n.Source, n.Mountpoint = filepath.Join(m.Source, rel), filepath.Join(m.base, name)
	require.NoError(m.t, os.Mkdir(n.Mountpoint, 0o755))
	n.mounted = false
	n.mount()
	m.t.Cleanup(n.unmount)
	return &n
}

// insistOn makes a rename that may be told that something is in flight for too long.
func (a *actor) insistOn(c command) {
	a.t.Helper()
	eventuallyNoted(a.t, "the rename", func() (bool, string) {
		r := a.do(c)
		if r.Errno != "EBUSY" {
			require.Empty(a.t, r.Errno, "%s to %s", c.Path, c.To)
		}
		return r.Errno == "", r.Errno
	})
}

const largeCopy = 256 << 20

// A long request is in flight while the tree that it writes to becomes another worktree.
// Once somebody holds that, nothing of it lands any more.
func TestRenameOfARootWaitsForWhatIsInFlight(t *testing.T) {
	for name, c := range map[string]struct {
		onFree string
		in     string   // where the copy goes on
		moves  []string // the names that its tree is given
		leases []string
	}{
		"from worktree to worktree":           {"deny", "main", []string{"worktrees/y"}, []string{"main", "worktrees/y"}},
		"by a third name":                     {"deny", "main", []string{"aside", "worktrees/y"}, []string{"main", "worktrees/y"}},
		"written without a lease":             {"allow", "main", []string{"worktrees/y"}, nil},
		"from where nobody is asked":          {"deny", "loose", []string{"worktrees/y"}, []string{"worktrees/y"}},
		"from a worktree to where nobody is":  {"deny", "main", []string{"aside"}, []string{"main"}},
		"written without a lease, and aside":  {"allow", "main", []string{"aside", "worktrees/y"}, nil},
		"from one worktree into another's id": {"deny", "worktrees/a", []string{"main"}, []string{"main", "worktrees/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMount(t, mountOptions{repository: true, onFree: c.onFree})
			copier, mover, other := startActor(t, "copier"), startActor(t, "mover"), startActor(t, "other")
			require.NoError(t, os.Mkdir(m.Behind("loose"), 0o755))
			last := c.moves[len(c.moves)-1]
			if last == "main" {
				require.NoError(t, os.Remove(m.Behind("main")))
			} else if last != "aside" {
				require.NoError(t, os.Mkdir(m.Behind(last), 0o755))
			}
			for _, w := range c.leases {
				m.wide(mover, w)
			}
			copier.ok(m.put(c.in, "from"))
			copier.ok(command{Op: "truncate", Path: m.At(c.in, "from"), Len: largeCopy})
			copier.ok(command{Op: "open", Handle: "from", Path: m.At(c.in, "from"), Flags: unix.O_RDONLY})
			copier.ok(command{Op: "open", Handle: "to", Path: m.At(c.in, "to"), Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o644})
			done := copier.begin(command{Op: "copyrange", Handle: "from", Name: "to", Len: largeCopy})
			eventually(t, "the copy lands", func() bool { return sizeOf(t, m.Behind(c.in, "to")) > 0 })

			at := c.in
			for _, to := range c.moves {
				mover.insistOn(m.move(at, to))
				at = to
			}
			if last != "aside" {
				if len(c.leases) > 0 {
					m.release(mover, last)
				}
				m.acquire(other, last)
			}
			granted := sizeOf(t, m.Behind(last, "to"))
			<-done
			require.Equal(t, granted, sizeOf(t, m.Behind(last, "to")), "what was let in under another name landed after the grant")
			if last != "aside" {
				copier.fails(command{Op: "pwrite", Handle: "to", Data: []byte("late")}, "EROFS")
				copier.fails(m.put(last, "late"), "EROFS")
				other.ok(m.put(last, "mine"))
			}
		})
	}
}

func sizeOf(t testing.TB, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	require.NoError(t, unix.Stat(path, &st), path)
	return st.Size
}

// A mount of one worktree knows its tree by what it was when it was mounted. While it is
// there the tree keeps that name.
func TestRenameOfARootBeneathTheMountOfAWorktree(t *testing.T) {
	for _, rel := range []string{"main", "worktrees/a"} {
		t.Run(rel, func(t *testing.T) {
			m := newMount(t, mountOptions{repository: true, onFree: "deny"})
			n := m.beside(rel, "mnt2")
			mover, writer := startActor(t, "mover"), startActor(t, "writer")
			m.wide(mover, rel)
			m.wide(mover, "worktrees", "y")
			mover.fails(m.move(rel, "worktrees/y"), "EBUSY")
			// Who holds it by its old name through the other mount is nobody by the new one.
			m.release(mover, rel)
			n.acquire(writer)
			writer.ok(n.put("f"))
			require.NoFileExists(t, m.Behind("worktrees", "y", "f"), "y is somebody else's")
			n.release(writer)
			n.unmount()
			m.wide(mover, rel)
			mover.ok(m.move(rel, "worktrees/y"))
			require.FileExists(t, m.Behind("worktrees", "y", "f"))
		})
	}
}

// The other way round: what is mounted as a worktree is that worktree's root when it is
// served, whoever renames meanwhile.
func TestRenamesOfRootsWhileOthersMount(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, onFree: "deny"})
	mover := startActor(t, "mover")
	m.wide(mover, "main")
	m.wide(mover, "worktrees", "y")
	stop, moved := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(moved)
		for from, to := "main", "worktrees/y"; ; {
			select {
			case <-stop:
				return
			default:
			}
			switch r, err := mover.try(m.move(from, to)); {
			case err != nil || r.Errno != "" && r.Errno != "EBUSY":
				moved <- "rename: " + r.Errno
				return
			case r.Errno == "":
				from, to = to, from
			}
		}
	}()
	require.NoError(t, os.Mkdir(filepath.Join(m.base, "mnt2"), 0o755))
	served := 0
	for range 20 {
		args := append([]string{"mount", filepath.Join(m.Source, "main"), filepath.Join(m.base, "mnt2"), "--log-file", m.logFile()}, m.opts.policy.args()...)
		if _, _, exit := m.CLI(args...); exit != 0 { // it has another name just now
			continue
		}
		served++
		var root, there unix.Stat_t
		require.NoError(t, unix.Stat(filepath.Join(m.base, "mnt2"), &root))
		require.NoError(t, unix.Stat(m.Behind("main"), &there))
		require.Equal(t, there.Ino, root.Ino, "it serves main as main")
		m.cliOK("umount", filepath.Join(m.base, "mnt2"))
	}
	close(stop)
	require.Empty(t, <-moved)
	require.Positive(t, served)
}

// Two mounts of one repository: one fails to rename all the time, and so must the other.
func TestRenamesOfRootsThroughTwoMounts(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, onFree: "deny"})
	n := m.beside("", "mnt2")
	holder, stranger, third := startActor(t, "holder"), startActor(t, "stranger"), startActor(t, "third")
	m.wide(holder, "main")
	m.wide(holder, "worktrees", "y")
	n.wide(third, "worktrees", "a")
	n.wide(third, "worktrees", "z")
	const rounds = 300
	results := make(chan map[string]int, 3)
	for _, r := range []struct {
		who *actor
		c   command
	}{
		{holder, m.move("main", "worktrees/y")},
		{stranger, n.move("main", "aside")},
		{third, n.move("worktrees/a", "worktrees/z")},
	} {
		go func() {
			said := map[string]int{}
			for range rounds {
				reply, err := r.who.try(r.c)
				if err != nil {
					reply.Errno = err.Error()
				}
				said[reply.Errno]++
			}
			results <- map[string]int{r.who.name + " EBUSY": said["EBUSY"], r.who.name + " EROFS": said["EROFS"]}
		}()
	}
	all := map[string]int{}
	for range 3 {
		for what, n := range <-results {
			all[what] += n
		}
	}
	require.Equal(t, map[string]int{
		"holder EBUSY": rounds, "holder EROFS": 0,
		"stranger EBUSY": 0, "stranger EROFS": rounds, // permission comes first
		"third EBUSY": rounds, "third EROFS": 0,
	}, all)
	n.unmount()
	holder.ok(m.move("main", "worktrees/y"))
	holder.ok(m.move("worktrees/y", "main"))
}

// Writers go on in both worktrees while their names change to and fro, by path and by
// what they have open. Nobody waits for ever, and what is open is judged by the tree.
func TestRenamesOfRootsAgainstWriters(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, onFree: "deny", prepare: withFiles("f")})
	require.NoError(t, os.WriteFile(m.Behind("worktrees", "a", "f"), nil, 0o644))
	mover := startActor(t, "mover")
	m.wide(mover, "main")
	m.wide(mover, "worktrees", "a")
	writers := []*actor{startActor(t, "w0"), startActor(t, "w1"), startActor(t, "w2")}
	stop, ended := make(chan struct{}), make(chan string, len(writers))
	for _, w := range writers {
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					ended <- ""
					return
				default:
				}
				at := []string{"main", "worktrees/a"}[i%2]
				for _, c := range []command{
					m.put(at, "new-"+w.name), {Op: "open", Handle: "h", Path: m.At(at, "f"), Flags: unix.O_WRONLY},
					{Op: "write", Handle: "h", Data: []byte("x")}, {Op: "close", Handle: "h"},
				} {
					r, err := w.try(c)
					switch {
					case err != nil:
						ended <- err.Error()
						return
					case r.Errno != "" && r.Errno != "EROFS" && r.Errno != "ENOHANDLE" && r.Errno != "EBADF" && r.Errno != "ENOENT":
						ended <- c.Op + ": " + r.Errno
						return
					}
				}
			}
		}()
	}
	for range 100 {
		mover.insistOn(command{Op: "rename", Path: m.At("main"), To: m.At("worktrees/a"), Flags: unix.RENAME_EXCHANGE})
	}
	// What is open belongs to the tree that it was opened in, and not to the name.
	mover.ok(command{Op: "open", Handle: "old", Path: m.At("main/f"), Flags: unix.O_WRONLY})
	mover.insistOn(command{Op: "rename", Path: m.At("main"), To: m.At("worktrees/a"), Flags: unix.RENAME_EXCHANGE})
	mover.fails(command{Op: "write", Handle: "old", Data: []byte("stale")}, "EROFS")
	close(stop)
	for range writers {
		require.Empty(t, <-ended)
	}
}
