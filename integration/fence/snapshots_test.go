package fence

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The form in which JVS keeps snapshots: with locks, or today's folder. They differ in the order in which a snapshot
// becomes READY, and in how JVS says that it collects garbage.
type jvsForm struct {
	name     string
	holds    []string // what is acquired to write
	mount    func(t *testing.T) *harness.Mount
	publish  func(m *harness.Mount, id string) []harness.Command
	collect  func(m *harness.Mount, id string) []harness.Command // what says that JVS is about to remove it
	finished func(m *harness.Mount) []harness.Command
}

var jvsForms = []jvsForm{
	{
		name: "with locks", holds: []string{"main"},
		mount: func(t *testing.T) *harness.Mount {
			m := harness.PrepareMount(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
			withSnapshots(t, m)
			return m
		},
		// It is made under its name, marked, and then described.
		publish: func(m *harness.Mount, id string) []harness.Command {
			return []harness.Command{
				{Op: "mkdir", Path: m.At(".jvs/snapshots", id), Mode: 0o755},
				m.Put(".jvs/snapshots", id, "f"),
				m.Put(".jvs/snapshots", id, ".jvs-tmp-1"),
				m.Move(".jvs/snapshots/"+id+"/.jvs-tmp-1", ".jvs/snapshots/"+id+"/.READY"),
				m.Put(".jvs/descriptors/.jvs-tmp-2"),
				m.Move(".jvs/descriptors/.jvs-tmp-2", ".jvs/descriptors/"+id+".json"),
			}
		},
		collect: func(m *harness.Mount, id string) []harness.Command {
			plan := []byte(`{"plan_id": "p", "to_delete": ["` + id + `"]}`)
			return []harness.Command{
				{Op: "mkdir", Path: m.At(".jvs/gc"), Mode: 0o755},
				{Op: "writefile", Path: m.At(".jvs/gc/p.json"), Flags: unix.O_CREAT, Mode: 0o644, Data: plan},
			}
		},
		finished: func(m *harness.Mount) []harness.Command {
			return []harness.Command{{Op: "unlink", Path: m.At(".jvs/gc/p.json")}}
		},
	},
	{
		name: "a folder",
		mount: func(t *testing.T) *harness.Mount {
			m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Prepare: withFolder})
			withSnapshots(t, m)
			return m
		},
		// It is made and marked under another name, described, and then gets its own.
		publish: func(m *harness.Mount, id string) []harness.Command {
			return []harness.Command{
				{Op: "mkdir", Path: m.At(".jvs/snapshots", id+".tmp"), Mode: 0o755},
				m.Put(".jvs/snapshots", id+".tmp", "f"),
				m.Put(".jvs/snapshots", id+".tmp", ".READY"),
				m.Put(".jvs/descriptors/.jvs-tmp-2"),
				m.Move(".jvs/descriptors/.jvs-tmp-2", ".jvs/descriptors/"+id+".json"),
				{Op: "rename", Path: m.At(".jvs/snapshots", id+".tmp"), To: m.At(".jvs/snapshots", id), Flags: unix.RENAME_NOREPLACE},
			}
		},
		collect: func(m *harness.Mount, _ string) []harness.Command {
			return []harness.Command{{Op: "mkdir", Path: m.At(".jvs/locks/repo.lock"), Mode: 0o755}}
		},
		finished: func(m *harness.Mount) []harness.Command {
			return []harness.Command{{Op: "rmdir", Path: m.At(".jvs/locks/repo.lock")}}
		},
	},
}

// withSnapshots puts a READY snapshot and an unfinished one into a repository.
func withSnapshots(t *testing.T, m *harness.Mount) {
	t.Helper()
	for name, text := range map[string]string{
		".jvs/snapshots/done/f": "content", ".jvs/snapshots/done/d/g": "more", ".jvs/snapshots/done/.READY": "{}", ".jvs/descriptors/done.json": "{}",
		".jvs/snapshots/half/f": "content", ".jvs/snapshots/half.tmp/.READY": "{}",
	} {
		path := filepath.Join(m.Source, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// attacksOnSnapshots are all the ways to change a READY snapshot.
func attacksOnSnapshots(m *harness.Mount) map[string]harness.Command {
	in := func(name string) string { return m.At(".jvs/snapshots/done", name) }
	return map[string]harness.Command{
		"append":               {Op: "writefile", Path: in("f"), Flags: unix.O_APPEND, Data: []byte("x")},
		"overwrite the mark":   {Op: "writefile", Path: in(".READY"), Data: []byte("x")},
		"truncate":             {Op: "truncate", Path: in("d/g"), Len: 1},
		"chmod a file":         {Op: "chmod", Path: in("f"), Mode: 0o600},
		"chmod a directory":    {Op: "chmod", Path: in("d"), Mode: 0o700},
		"chmod the snapshot":   {Op: "chmod", Path: m.At(".jvs/snapshots/done"), Mode: 0o700},
		"xattr":                {Op: "setxattr", Path: in("f"), Name: "user.a", Data: []byte("x")},
		"add a file":           {Op: "writefile", Path: in("new"), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("x")},
		"add a directory":      {Op: "mkdir", Path: in("new"), Mode: 0o755},
		"add a link":           {Op: "symlink", Path: in("new"), To: "f"},
		"remove a file":        {Op: "unlink", Path: in("f")},
		"remove the mark":      {Op: "unlink", Path: in(".READY")},
		"another name in it":   {Op: "rename", Path: in("f"), To: in("h")},
		"replace a file":       {Op: "rename", Path: m.At(".jvs/snapshots/half/f"), To: in("f")},
		"take a file":          {Op: "rename", Path: in("f"), To: m.At(".jvs/snapshots/half/taken")},
		"move the snapshot":    {Op: "rename", Path: m.At(".jvs/snapshots/done"), To: m.At(".jvs/snapshots/gone")},
		"move all snapshots":   {Op: "rename", Path: m.At(".jvs/snapshots"), To: m.At(".jvs/gone")},
		"move all descriptors": {Op: "rename", Path: m.At(".jvs/descriptors"), To: m.At(".jvs/gone")},
		"move .jvs":            {Op: "rename", Path: m.At(".jvs"), To: m.At("gone")},
		"exchange":             {Op: "rename", Path: m.At(".jvs/snapshots/done"), To: m.At(".jvs/snapshots/half"), Flags: unix.RENAME_EXCHANGE},
		"change the descriptor": {
			Op: "writefile", Path: m.At(".jvs/descriptors/done.json"), Flags: unix.O_TRUNC, Data: []byte("x")},
		"remove the descriptor":  {Op: "unlink", Path: m.At(".jvs/descriptors/done.json")},
		"replace the descriptor": {Op: "rename", Path: m.At(".jvs/snapshots/half/f"), To: m.At(".jvs/descriptors/done.json")},
	}
}

// A READY snapshot, its mark and its descriptor are changed by nobody: not by a stranger, and not by who holds a lease.
func TestAReadySnapshotCannotBeChanged(t *testing.T) {
	for _, form := range jvsForms {
		t.Run(form.name, func(t *testing.T) {
			m := form.mount(t)
			m.Mount()
			holder, stranger, jvs := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger"), actorCalled(t, m, "jvs")
			m.Acquire(holder, form.holds...)
			before := m.Digest()
			for _, who := range []*harness.Actor{stranger, holder, jvs} {
				for what, c := range attacksOnSnapshots(m) {
					require.Equal(t, "EROFS", who.Do(c).Errno, "%s by %s", what, who.Name)
				}
				// Another name would be a way in.
				who.Fails(harness.Command{Op: "link", Path: m.At(".jvs/snapshots/done/f"), To: m.At(".jvs/f")}, "EXDEV")
				who.Fails(harness.Command{Op: "link", Path: m.At(".jvs/snapshots/done/f"), To: m.At(".jvs/snapshots/half/g")}, "EXDEV")
				who.Fails(harness.Command{Op: "link", Path: m.At(".jvs/snapshots/half/f"), To: m.At(".jvs/snapshots/done/h")}, "EXDEV")
			}
			require.Empty(t, before.Diff(m.Digest()))
			require.Contains(t, m.MustCLI("status", "--json"), "READY snapshot of JVS, which nobody changes")
			x, _ := m.Explain(stranger.PID(), m.At(".jvs/snapshots/done/f"))
			require.Equal(t, []any{false, "E_IMMUTABLE"}, []any{x.Allowed, x.Class}, x.Sentence)
			x, _ = m.Explain(stranger.PID(), m.At(".jvs/snapshots/half/f"))
			require.True(t, x.Allowed, x.Sentence)
			require.Equal(t, "snapshot", layoutOf(t, m, m.At(".jvs/snapshots/done/f"))[0].Guard)
			// What is not READY is JVS' to fill, and to remove.
			stranger.OK(m.Put(".jvs/snapshots/half/f"))
			stranger.OK(harness.Command{Op: "unlink", Path: m.At(".jvs/snapshots/half/f")})
			stranger.OK(harness.Command{Op: "unlink", Path: m.At(".jvs/snapshots/half.tmp/.READY")})
		})
	}
}

// JVS makes snapshots through the mount. From the moment that one is READY it stays as it is, for who has it open, too.
func TestASnapshotThatBecomesReadyStaysAsItIs(t *testing.T) {
	for _, form := range jvsForms {
		t.Run(form.name, func(t *testing.T) {
			m := form.mount(t)
			m.Mount()
			jvs, early := harness.StartActor(t, "jvs"), harness.StartActor(t, "early")
			steps := form.publish(m, "next")
			for i, c := range steps {
				jvs.OK(c)
				if i == 1 { // the file is there
					early.OK(harness.Command{Op: "truncate", Path: c.Path, Len: 4096})
					early.OK(harness.Command{Op: "open", Handle: "h", Path: c.Path, Flags: unix.O_RDWR})
					early.OK(harness.Command{Op: "pwrite", Handle: "h", Data: []byte("early")})
					early.OK(harness.Command{Op: "mmap", Handle: "h", Name: "m", Len: 4096})
				}
			}
			before := m.Digest()
			early.Fails(harness.Command{Op: "pwrite", Handle: "h", Data: []byte("late")}, "EROFS")
			early.Fails(harness.Command{Op: "ftruncate", Handle: "h", Len: 1}, "EROFS")
			early.OK(harness.Command{Op: "store", Name: "m", Data: []byte("STORED")})
			require.NotEmpty(t, early.Do(harness.Command{Op: "msync", Name: "m"}).Errno)
			jvs.Fails(m.Put(".jvs/snapshots/next/f"), "EROFS")
			jvs.Fails(m.Put(".jvs/descriptors/next.json"), "EROFS")
			require.Empty(t, before.Diff(m.Digest()))
		})
	}
}

// JVS copies a worktree, and then publishes the copy. If the lease has changed hands meanwhile, the copy may be of no one
// state: it does not become READY, and JVS can clean up. Of another worktree, or under the token of now, one does.
func TestASnapshotIsNotPublishedAfterTheLeaseChangedHands(t *testing.T) {
	for _, form := range jvsForms {
		t.Run(form.name, func(t *testing.T) {
			m := form.mount(t)
			m.Mount()
			one, two, jvs := harness.StartActor(t, "one"), harness.StartActor(t, "two"), harness.StartActor(t, "jvs")
			jvs.OK(harness.Command{Op: "mkdir", Path: m.At(".jvs/intents"), Mode: 0o755})
			begins := func(id, worktree string) []harness.Command {
				text := []byte(`{"snapshot_id": "` + id + `", "worktree_name": "` + worktree + `"}`)
				jvs.OK(harness.Command{Op: "writefile", Path: m.At(".jvs/intents", id+".json"), Flags: unix.O_CREAT, Mode: 0o644, Data: text})
				steps := form.publish(m, id)
				for _, c := range steps[:2] {
					jvs.OK(c)
				}
				return steps[2:]
			}
			m.Acquire(one, form.holds...)
			torn, whole := begins("torn", "main"), begins("other", "a")
			m.Release(one, form.holds...)
			m.Acquire(two, form.holds...)
			refused := harness.Reply{}
			for _, c := range torn {
				if refused = jvs.Do(c); refused.Errno != "" {
					break
				}
			}
			require.Equal(t, "EROFS", refused.Errno, "it was published")
			require.False(t, jvs.Do(harness.Command{Op: "readfile", Path: m.At(".jvs/snapshots/torn/.READY")}).Errno == "" &&
				jvs.Do(harness.Command{Op: "readfile", Path: m.At(".jvs/descriptors/torn.json")}).Errno == "")
			require.Contains(t, m.MustCLI("status", "--json"), "since this snapshot of JVS began")
			jvs.OK(harness.Command{Op: "unlink", Path: filepath.Join(filepath.Dir(torn[0].Path), "f")})
			for _, c := range append(whole, begins("next", "main")...) {
				jvs.OK(c)
			}
			jvs.Fails(m.Put(".jvs/snapshots/next/f"), "EROFS")
		})
	}
}

// JVS' own garbage collection removes snapshots: today's under its lock, JVS with locks by its plan. Nobody else does.
func TestOnlyJVSRemovesSnapshots(t *testing.T) {
	for _, form := range jvsForms {
		t.Run(form.name, func(t *testing.T) {
			m := form.mount(t)
			m.Mount()
			jvs, rm := actorCalled(t, m, "jvs"), harness.StartActor(t, "rm")
			removes := []harness.Command{
				{Op: "unlink", Path: m.At(".jvs/snapshots/done/f")},
				{Op: "unlink", Path: m.At(".jvs/snapshots/done/d/g")},
				{Op: "rmdir", Path: m.At(".jvs/snapshots/done/d")},
				{Op: "unlink", Path: m.At(".jvs/snapshots/done/.READY")},
				{Op: "rmdir", Path: m.At(".jvs/snapshots/done")},
				{Op: "unlink", Path: m.At(".jvs/descriptors/done.json")},
			}
			jvs.Fails(removes[0], "EROFS") // not yet
			for _, c := range form.collect(m, "done") {
				jvs.OK(c)
			}
			rm.Fails(removes[0], "EROFS") // it is no JVS
			jvs.Fails(m.Put(".jvs/snapshots/done/f"), "EROFS")
			jvs.Fails(m.Move(".jvs/snapshots/done", ".jvs/snapshots/gone"), "EROFS")
			for _, c := range form.finished(m) {
				jvs.OK(c)
			}
			jvs.Fails(removes[0], "EROFS") // not any more
			for _, c := range form.collect(m, "done") {
				if r := jvs.Do(c); r.Errno != "" {
					require.Equal(t, "EEXIST", r.Errno)
				}
			}
			for _, c := range removes {
				jvs.OK(c)
			}
		})
	}
}

// What JVS puts beside the root of a worktree when it restores in place is guarded as the worktree is: what will be in
// its place, and what was.
func TestTheTreesOfARestoreInPlaceAreGuarded(t *testing.T) {
	m := newRepository(t, "deny")
	for root, parts := range map[string][]string{"main": {"main"}, "worktrees/a": {"worktrees", "a"}} {
		holder, stranger := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
		m.Acquire(holder, parts...)
		next, was := root+".restore-tmp-1a2b3c4d", root+".restore-backup-1a2b3c4d"
		stranger.Fails(harness.Command{Op: "mkdir", Path: m.At(next), Mode: 0o755}, "EROFS")
		holder.OK(harness.Command{Op: "mkdir", Path: m.At(next), Mode: 0o755})
		holder.OK(m.Put(next, "restored"))
		stranger.Fails(m.Put(next, "restored"), "EROFS")
		stranger.Fails(m.Put(next, "mine"), "EROFS")
		stranger.Fails(m.Move(next, "stolen"), "EROFS", "EXDEV")
		holder.OK(harness.Command{Op: "open", Handle: "h", Path: m.At(root), Flags: unix.O_RDONLY})
		holder.OK(m.Move(root, was))
		stranger.Fails(m.Put(was, "mine"), "EROFS")
		stranger.Fails(m.Move(was, root), "EROFS")
		stranger.Fails(harness.Command{Op: "mkdir", Path: m.At(root), Mode: 0o755}, "EROFS")
		holder.OK(m.Move(next, root))
		require.FileExists(t, m.Behind(root, "restored"))
		stranger.Fails(harness.Command{Op: "rmdir", Path: m.At(was)}, "EROFS")
		holder.OK(m.Put(root, "restored"))
		holder.OK(m.Put(was, "kept"))
		m.Release(holder, parts...)
		holder.Fails(m.Put(was, "kept"), "EROFS")
	}
}

// actorCalled is an actor whose program has a name.
func actorCalled(t *testing.T, m *harness.Mount, name string) *harness.Actor {
	t.Helper()
	program := filepath.Join(m.Base, "bin", name)
	text, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(program), 0o755))
	require.NoError(t, os.WriteFile(program, text, 0o755))
	return harness.ServeActor(t, name, exec.Command(program))
}
