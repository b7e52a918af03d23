package fence

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// wide takes the lease of a worktree for everybody who comes through the mount.
func wide(m *harness.Mount, a *harness.Actor, worktree ...string) {
	m.T.Helper()
	m.MustCLI("lock", "acquire", "--scope", "mount", "--pid", harness.PIDOf(a), m.At(worktree...))
}

// beside mounts another source with a daemon of its own; rel is below the repository.
func beside(m *harness.Mount, rel, name string) *harness.Mount {
	m.T.Helper()
	n := *m
	n.Source, n.Mountpoint = filepath.Join(m.Source, rel), filepath.Join(m.Base, name)
	require.NoError(m.T, os.Mkdir(n.Mountpoint, 0o755))
	n.Mounted = false
	n.Mount()
	m.T.Cleanup(n.Unmount)
	return &n
}

// insistOn retries a rename that fails because something is in flight for too long.
func insistOn(a *harness.Actor, c harness.Command) {
	a.T.Helper()
	harness.EventuallyNoted(a.T, "the rename", func() (bool, string) {
		r := a.Do(c)
		if r.Errno != "EBUSY" {
			require.Empty(a.T, r.Errno, "%s to %s", c.Path, c.To)
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
			m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: c.onFree})
			copier, mover, other := harness.StartActor(t, "copier"), harness.StartActor(t, "mover"), harness.StartActor(t, "other")
			require.NoError(t, os.Mkdir(m.Behind("loose"), 0o755))
			last := c.moves[len(c.moves)-1]
			if last == "main" {
				require.NoError(t, os.Remove(m.Behind("main")))
			} else if last != "aside" {
				require.NoError(t, os.Mkdir(m.Behind(last), 0o755))
			}
			for _, w := range c.leases {
				wide(m, mover, w)
			}
			copier.OK(m.Put(c.in, "from"))
			copier.OK(harness.Command{Op: "truncate", Path: m.At(c.in, "from"), Len: largeCopy})
			copier.OK(harness.Command{Op: "open", Handle: "from", Path: m.At(c.in, "from"), Flags: unix.O_RDONLY})
			copier.OK(harness.Command{Op: "open", Handle: "to", Path: m.At(c.in, "to"), Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o644})
			done := copier.Begin(harness.Command{Op: "copy", Handle: "from", Name: "to", Len: largeCopy})
			harness.Eventually(t, "the copy lands", func() bool { return sizeOf(t, m.Behind(c.in, "to")) > 0 })

			at := c.in
			for _, to := range c.moves {
				insistOn(mover, m.Move(at, to))
				at = to
			}
			if last != "aside" {
				if len(c.leases) > 0 {
					m.Release(mover, last)
				}
				m.Acquire(other, last)
			}
			granted := sizeOf(t, m.Behind(last, "to"))
			<-done
			require.Equal(t, granted, sizeOf(t, m.Behind(last, "to")), "what was let in under another name landed after the grant")
			if last != "aside" {
				copier.Fails(harness.Command{Op: "pwrite", Handle: "to", Data: []byte("late")}, "EROFS")
				copier.Fails(m.Put(last, "late"), "EROFS")
				other.OK(m.Put(last, "mine"))
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

// A signal that kills nobody reaches the mover while its rename waits, as Go's scheduler sends them: the rename
// goes on as it does natively, or gives up as if nobody had been interrupted.
func TestASignalBreaksOffNoRenameOfARoot(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny"})
	copier, mover := harness.StartActor(t, "copier"), harness.StartActor(t, "mover")
	wide(m, mover, "main")
	copier.OK(m.Put("main", "from"))
	copier.OK(harness.Command{Op: "truncate", Path: m.At("main", "from"), Len: largeCopy})
	copier.OK(harness.Command{Op: "open", Handle: "from", Path: m.At("main", "from"), Flags: unix.O_RDONLY})
	copier.OK(harness.Command{Op: "open", Handle: "to", Path: m.At("main", "to"), Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o644})
	done := copier.Begin(harness.Command{Op: "copy", Handle: "from", Name: "to", Len: largeCopy})
	harness.Eventually(t, "the copy lands", func() bool { return sizeOf(t, m.Behind("main", "to")) > 0 })

	moved := mover.Begin(m.Move("main", "aside"))
	signals := time.NewTicker(time.Millisecond)
	defer signals.Stop()
	for answered := false; !answered; {
		select {
		case r := <-moved:
			require.Contains(t, []string{"", "EBUSY"}, r.Errno)
			answered = true
		case <-signals.C:
			require.NoError(t, unix.Kill(mover.PID(), unix.SIGURG))
		}
	}
	<-done
}

// A mount of one worktree knows its tree by the name at the time of the mount. While it is mounted, the tree
// keeps that name.
func TestTheRootOfAMountedWorktreeCannotBeRenamed(t *testing.T) {
	for _, rel := range []string{"main", "worktrees/a"} {
		t.Run(rel, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny"})
			n := beside(m, rel, "mnt2")
			mover, writer := harness.StartActor(t, "mover"), harness.StartActor(t, "writer")
			wide(m, mover, rel)
			wide(m, mover, "worktrees", "y")
			mover.Fails(m.Move(rel, "worktrees/y"), "EBUSY")
			// A holder by the old name through the other mount holds nothing by the new one.
			m.Release(mover, rel)
			n.Acquire(writer)
			writer.OK(n.Put("f"))
			require.NoFileExists(t, m.Behind("worktrees", "y", "f"), "y is somebody else's")
			n.Release(writer)
			n.Unmount()
			wide(m, mover, rel)
			mover.OK(m.Move(rel, "worktrees/y"))
			require.FileExists(t, m.Behind("worktrees", "y", "f"))
		})
	}
}

// The other way round: what is mounted as a worktree is that worktree's root when it is
// served, whoever renames meanwhile.
func TestAMountDuringRenamesServesTheRootOfItsWorktree(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny"})
	mover := harness.StartActor(t, "mover")
	wide(m, mover, "main")
	wide(m, mover, "worktrees", "y")
	stop, moved := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(moved)
		for from, to := "main", "worktrees/y"; ; {
			select {
			case <-stop:
				return
			default:
			}
			switch r, err := mover.Try(m.Move(from, to)); {
			case err != nil || r.Errno != "" && r.Errno != "EBUSY":
				moved <- "rename: " + r.Errno
				return
			case r.Errno == "":
				from, to = to, from
			}
			if from == "main" { // for most of the time it is called so, or hardly any mount would find it
				for range 50 {
					_, _ = os.Stat(m.At("main"))
				}
			}
		}
	}()
	require.NoError(t, os.Mkdir(filepath.Join(m.Base, "mnt2"), 0o755))
	served := 0
	for tries := 0; served < 5 && tries < 100; tries++ {
		args := append([]string{"mount", filepath.Join(m.Source, "main"), filepath.Join(m.Base, "mnt2"), "--log-file", m.LogFile()}, m.Opts.Policy.Args()...)
		if _, _, exit := m.CLI(args...); exit != 0 { // it has another name just now
			continue
		}
		served++
		var root, there unix.Stat_t
		require.NoError(t, unix.Stat(filepath.Join(m.Base, "mnt2"), &root))
		require.NoError(t, unix.Stat(m.Behind("main"), &there))
		require.Equal(t, there.Ino, root.Ino, "it serves main as main")
		m.MustCLI("umount", filepath.Join(m.Base, "mnt2"))
	}
	close(stop)
	require.Empty(t, <-moved)
	require.Positive(t, served)
}

// Two mounts of one repository: one fails to rename all the time, and so must the other.
func TestRootsCannotBeRenamedWhileTwoMountsServe(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny"})
	n := beside(m, "", "mnt2")
	holder, stranger, third := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger"), harness.StartActor(t, "third")
	wide(m, holder, "main")
	wide(m, holder, "worktrees", "y")
	wide(n, third, "worktrees", "a")
	wide(n, third, "worktrees", "z")
	const rounds = 300
	results := make(chan map[string]int, 3)
	for _, r := range []struct {
		who *harness.Actor
		c   harness.Command
	}{
		{holder, m.Move("main", "worktrees/y")},
		{stranger, n.Move("main", "aside")},
		{third, n.Move("worktrees/a", "worktrees/z")},
	} {
		go func() {
			said := map[string]int{}
			for range rounds {
				reply, err := r.who.Try(r.c)
				if err != nil {
					reply.Errno = err.Error()
				}
				said[reply.Errno]++
			}
			results <- map[string]int{r.who.Name + " EBUSY": said["EBUSY"], r.who.Name + " EROFS": said["EROFS"]}
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
	n.Unmount()
	holder.OK(m.Move("main", "worktrees/y"))
	holder.OK(m.Move("worktrees/y", "main"))
}

// Writers go on in both worktrees while their names change to and fro, by path and by
// what they have open. Nobody waits for ever, and what is open is judged by the tree.
func TestWritesAreJudgedByTheTreeWhileItsRootIsRenamed(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	require.NoError(t, os.WriteFile(m.Behind("worktrees", "a", "f"), nil, 0o644))
	mover := harness.StartActor(t, "mover")
	wide(m, mover, "main")
	wide(m, mover, "worktrees", "a")
	writers := []*harness.Actor{harness.StartActor(t, "w0"), harness.StartActor(t, "w1"), harness.StartActor(t, "w2")}
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
				for _, c := range []harness.Command{
					m.Put(at, "new-"+w.Name), {Op: "open", Handle: "h", Path: m.At(at, "f"), Flags: unix.O_WRONLY},
					{Op: "write", Handle: "h", Data: []byte("x")}, {Op: "close", Handle: "h"},
				} {
					r, err := w.Try(c)
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
		insistOn(mover, harness.Command{Op: "rename", Path: m.At("main"), To: m.At("worktrees/a"), Flags: unix.RENAME_EXCHANGE})
	}
	// An open file belongs to the tree in which it was opened, and not to the name.
	mover.OK(harness.Command{Op: "open", Handle: "old", Path: m.At("main/f"), Flags: unix.O_WRONLY})
	insistOn(mover, harness.Command{Op: "rename", Path: m.At("main"), To: m.At("worktrees/a"), Flags: unix.RENAME_EXCHANGE})
	mover.Fails(harness.Command{Op: "write", Handle: "old", Data: []byte("stale")}, "EROFS")
	close(stop)
	for range writers {
		require.Empty(t, <-ended)
	}
}
