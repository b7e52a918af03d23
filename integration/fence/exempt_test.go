package fence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// cacheDir is the directory that everybody may fill in these tests, and cacheRule the
// rule that says so.
const (
	cacheDir  = "app/cache"
	cacheRule = "app/cache/**"
)

// prepareCache makes a guarded tree around a cache.
func prepareCache(t testing.TB, tree string) {
	t.Helper()
	for _, dir := range []string{"src", "src/empty", cacheDir, cacheDir + "/d", cacheDir + "/repo/.git", cacheDir + "/x/.jvs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(tree, dir), 0o755))
	}
	harness.WithFiles("src/f", "src/g", "src/linked", cacheDir+"/f", cacheDir+"/g", cacheDir+"/d/f", cacheDir+"/repo/.git/config",
		cacheDir+"/repo/f", cacheDir+"/x/.jvs/f")(t, tree)
	require.NoError(t, os.Link(filepath.Join(tree, "src/linked"), filepath.Join(tree, cacheDir, "linked")))
	require.NoError(t, os.Symlink("../../src/f", filepath.Join(tree, cacheDir, "out")))
	require.NoError(t, os.Symlink("../../src", filepath.Join(tree, cacheDir, "outdir")))
	require.NoError(t, os.Symlink("../app/cache/f", filepath.Join(tree, "src/in")))
}

// newCache mounts a tree with a cache; the holder holds, the stranger does not.
func newCache(t *testing.T, extra ...string) (m *harness.Mount, holder, stranger *harness.Actor) {
	t.Helper()
	m = harness.NewMount(t, harness.MountOptions{OnFree: "deny", Extra: append([]string{"--exempt", cacheRule}, extra...), Prepare: prepareCache})
	holder, stranger = harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
	m.Acquire(holder)
	return m, holder, stranger
}

// ofHardLinks are the rows that stay refused in an exempt directory, because the file
// has another name.
var ofHardLinks = map[string]bool{"unlink of one of two links": true}

// Where anybody may write, every row of the matrix that is refused elsewhere lands by
// somebody who holds nothing, while somebody else holds the lease.
func TestEveryRowLandsInAnExemptPlaceWithoutTheLease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Extra: []string{"--exempt", "**/node_modules/.cache/**"}, Prepare: func(t testing.TB, tree string) {
		require.NoError(t, os.MkdirAll(filepath.Join(tree, "x/node_modules/.cache"), 0o755))
		prepareRows(t, filepath.Join(tree, "x/node_modules/.cache"))
	}})
	holder, a, tree := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger"), m.At("x/node_modules/.cache")
	m.Acquire(holder)
	for _, r := range allRows() {
		t.Run(r.name, func(t *testing.T) {
			require.Empty(t, r.opens(t, a, tree).Errno)
			before := m.Digest()
			got := r.runs(t, a, tree)
			if ofHardLinks[r.name] {
				assert.Equal(t, "EROFS", got.Errno)
				assert.Empty(t, before.Diff(m.Digest()))
				return
			}
			assert.Empty(t, got.Errno, got.Note)
			assert.Equal(t, harmless[r.name], len(before.Diff(m.Digest())) == 0, "a trace in the tree")
			r.drops(t, a, tree)
		})
	}
}

// Rules for other places open nothing here.
func TestEveryRowIsRefusedOutsideOfExemptPlaces(t *testing.T) {
	c := newCast(t, harness.MountOptions{OnFree: "deny", Extra: []string{"--exempt", "**/.cache/**", "--exempt", "rows/other/*.o"}, Prepare: prepareStage})
	c.openHandles()
	c.m.Release(c.former)
	c.m.Acquire(c.usurper)
	c.refuseAll(func(row) bool { return true })
}

// A read-only mount is one for everybody.
func TestAReadOnlyMountRefusesExemptWrites(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Extra: []string{"--exempt", cacheRule, "--enforce", "readonly"}, Prepare: prepareCache})
	a := harness.StartActor(t, "a")
	before := m.Digest()
	a.Fails(m.Put(cacheDir, "f"), "EROFS")
	a.Fails(m.Put(cacheDir, "new"), "EROFS")
	require.Empty(t, before.Diff(m.Digest()))
}

// exemptBorder is everything by which a stranger could get something over the border,
// at the directory itself, or around it by links.
func exemptBorder(m *harness.Mount) map[string]harness.Command {
	in := func(rel string) string { return m.At(cacheDir, rel) }
	move := func(from, to string, flags int) harness.Command {
		return harness.Command{Op: "rename", Path: from, To: to, Flags: flags}
	}
	write := func(path string) harness.Command {
		return harness.Command{Op: "writefile", Path: path, Flags: unix.O_TRUNC, Data: []byte("late")}
	}
	return map[string]harness.Command{
		"rename out":                    move(in("f"), m.At("src/new"), 0),
		"rename out over a file":        move(in("f"), m.At("src/f"), 0),
		"rename in":                     move(m.At("src/f"), in("new"), 0),
		"rename in over a file":         move(m.At("src/f"), in("f"), 0),
		"exchange":                      move(in("f"), m.At("src/f"), unix.RENAME_EXCHANGE),
		"exchange the other way":        move(m.At("src/empty"), in("d"), unix.RENAME_EXCHANGE),
		"whiteout out":                  move(in("f"), m.At("src/new"), unix.RENAME_WHITEOUT),
		"rename a directory out":        move(in("d"), m.At("src/d"), 0),
		"rename a directory in":         move(m.At("src/empty"), in("new"), 0),
		"rename the root":               move(m.At(cacheDir), m.At("app/cache2"), 0),
		"rename the root into itself":   move(m.At("src/empty"), m.At(cacheDir), unix.RENAME_EXCHANGE),
		"rename a directory above":      move(m.At("app"), m.At("app2"), 0),
		"rename what holds .git":        move(in("repo"), in("repo2"), 0),
		"rename .git":                   move(in("repo/.git"), in("repo/git"), 0),
		"rename to .git":                move(in("d"), in(".git"), 0),
		"rename what holds .jvs":        move(in("x"), in("y"), 0),
		"rename a hard link":            move(in("linked"), in("new"), 0),
		"rename over a hard link":       move(in("f"), in("linked"), 0),
		"link out":                      {Op: "link", Path: in("f"), To: m.At("src/new")},
		"link in":                       {Op: "link", Path: m.At("src/f"), To: in("new")},
		"link a hard link":              {Op: "link", Path: in("linked"), To: in("new")},
		"link as .git":                  {Op: "link", Path: in("f"), To: in(".git")},
		"nameless file out":             {Op: "tmpfile", Path: m.At(cacheDir), Mode: 0o644, To: m.At("src/new")},
		"nameless file of the root":     {Op: "tmpfile", Path: m.At("app"), Mode: 0o644, To: in("new")},
		"remove the root":               {Op: "rmdir", Path: m.At(cacheDir)},
		"chmod the root":                {Op: "chmod", Path: m.At(cacheDir), Mode: 0o777},
		"times of the root":             {Op: "utimens", Path: m.At(cacheDir)},
		"xattr of the root":             {Op: "setxattr", Path: m.At(cacheDir), Name: "user.x", Data: []byte("x")},
		"make another root":             {Op: "mkdir", Path: m.At("src/cache"), Mode: 0o755},
		"write beside":                  m.Put("app", "new"),
		"write through ..":              write(in("d") + "/../../../src/f"),
		"write through a symlink":       write(in("out")),
		"write through a directory":     write(in("outdir/f")),
		"create through a directory":    m.Put(cacheDir, "outdir", "new"),
		"truncate through a symlink":    {Op: "truncate", Path: in("out"), Len: 1},
		"chmod through a symlink":       {Op: "chmod", Path: in("out"), Mode: 0o600},
		"write a hard link":             write(in("linked")),
		"truncate a hard link":          {Op: "truncate", Path: in("linked"), Len: 1},
		"chmod a hard link":             {Op: "chmod", Path: in("linked"), Mode: 0o600},
		"xattr of a hard link":          {Op: "setxattr", Path: in("linked"), Name: "user.x", Data: []byte("x")},
		"unlink a hard link":            {Op: "unlink", Path: in("linked")},
		"write the other name":          write(m.At("src/linked")),
		"write below .git":              write(in("repo/.git/config")),
		"create below .git":             m.Put(cacheDir, "repo/.git/new"),
		"make .git":                     {Op: "mkdir", Path: in("d/.git"), Mode: 0o755},
		"make .git as a file":           m.Put(cacheDir, "d", ".git"),
		"chmod .git":                    {Op: "chmod", Path: in("repo/.git"), Mode: 0o700},
		"write below .jvs":              write(in("x/.jvs/f")),
		"make .jvs":                     {Op: "mkdir", Path: in(".jvs"), Mode: 0o755},
		"symlink as .jvs":               {Op: "symlink", To: "f", Path: in(".jvs")},
		"write outside":                 write(m.At("src/f")),
		"rename within what is guarded": move(m.At("src/f"), m.At("src/h"), 0),
	}
}

// Nothing gets over the border without the lease, and nothing is left behind.
func TestNothingCrossesTheBorderOfAnExemptPlaceWithoutTheLease(t *testing.T) {
	m, _, stranger := newCache(t)
	before := m.Digest()
	for name, c := range exemptBorder(m) {
		t.Run(name, func(t *testing.T) {
			r, err := stranger.Try(c)
			require.NoError(t, err)
			assert.Equal(t, "EROFS", r.Errno)
			assert.Empty(t, before.Diff(m.Digest()))
		})
	}
	stranger.OK(harness.Command{Op: "writefile", Path: m.At("src/in"), Flags: unix.O_TRUNC, Data: []byte("by the symlink")})
	require.Equal(t, "by the symlink", harness.ReadText(t, m.Behind(cacheDir, "f")), "a symlink into the cache leads to what anybody may write")
}

// The holder may do what a stranger may not: across the border, too.
func TestTheHolderCrossesTheBorderOfAnExemptPlace(t *testing.T) {
	m, holder, stranger := newCache(t)
	holder.OK(m.Move(cacheDir+"/f", "src/new"))
	stranger.Fails(harness.Command{Op: "writefile", Path: m.At("src/new"), Data: []byte("late")}, "EROFS")
	holder.OK(m.Move("src/g", cacheDir+"/mine"))
	stranger.OK(harness.Command{Op: "writefile", Path: m.At(cacheDir, "mine"), Flags: unix.O_TRUNC, Data: []byte("theirs")})
	holder.OK(harness.Command{Op: "unlink", Path: m.At(cacheDir, "linked")})
	holder.OK(harness.Command{Op: "rename", Path: m.At("app"), To: m.At("app2")})
	stranger.Fails(m.Put("app2/cache/mine"), "EROFS")
	stranger.Fails(harness.Command{Op: "mkdir", Path: m.At("app"), Mode: 0o755}, "EROFS")
	holder.OK(harness.Command{Op: "mkdir", Path: m.At("app"), Mode: 0o755})
	stranger.Fails(harness.Command{Op: "mkdir", Path: m.At("app/cache"), Mode: 0o755}, "EROFS")
	holder.OK(harness.Command{Op: "mkdir", Path: m.At("app/cache"), Mode: 0o755})
	stranger.OK(m.Put("app/cache/new"))
	require.Equal(t, "put", harness.ReadText(t, m.Behind("app/cache/new")))
}

// A file that gets its last other name taken away is a file with one name again.
func TestAFileIsExemptOnceItsLastOtherNameIsRemoved(t *testing.T) {
	m, holder, stranger := newCache(t)
	late := harness.Command{Op: "writefile", Path: m.At(cacheDir, "linked"), Flags: unix.O_TRUNC, Data: []byte("theirs")}
	stranger.Fails(late, "EROFS")
	holder.OK(harness.Command{Op: "unlink", Path: m.At("src/linked")})
	stranger.OK(late)
	require.Equal(t, "theirs", harness.ReadText(t, m.Behind(cacheDir, "linked")))
}

// Asked for twice, .git is as open as anything else; by halves it is not.
func TestExemptingGitNeedsBothOptions(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Prepare: prepareCache})
	for _, c := range []struct{ args, want string }{
		{"--exempt=**/.git/**", "exempt_git"},
		{"--exempt-git --exempt=**/.g*/**", "write .git itself"},
		{"--exempt-git --exempt=**/.jvs/**", ".jvs is never exempt"},
		{"--exempt=**", "everything"},
		{"--exempt=/abs", "relative"},
	} {
		args := append([]string{"mount", m.Source, m.Mountpoint, "--control", m.LockDir}, strings.Fields(c.args)...)
		_, errs, exit := m.CLI(args...)
		require.Equal(t, harness.ExitUsage, exit, "%s\n%s", c.args, errs)
		require.Contains(t, errs, c.want, c.args)
	}
	m.Opts.Extra = []string{"--exempt", cacheDir + "/repo/.git/**", "--exempt-git"}
	m.Mount()
	a := harness.StartActor(t, "a")
	a.OK(m.Put(cacheDir, "repo/.git/config"))
	a.Fails(m.Put(cacheDir, "repo/f"), "EROFS")
	a.Fails(harness.Command{Op: "mkdir", Path: m.At(cacheDir, "repo/.git/.jvs"), Mode: 0o755}, "EROFS")
}

// In a repository the rules hold in each worktree from its own root, and one can have
// rules of its own.
func TestExemptRulesHoldFromEachWorktreesRoot(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: prepareCache})
	for _, name := range []string{"a", "b"} {
		prepareCache(t, m.Behind("worktrees", name))
	}
	m.Opts.Extra = []string{"--config", m.WriteConfig("c.yaml", "exempt: ['"+cacheRule+"']\nworktrees:\n  a: {exempt: []}\n  b: {exempt: ['src/*']}\n")}
	m.Mount()
	a := harness.StartActor(t, "a")
	a.OK(m.Put("main", cacheDir, "f"))
	a.Fails(m.Put("main/src/f"), "EROFS")
	a.Fails(m.Put("worktrees/a", cacheDir, "f"), "EROFS")
	a.OK(m.Put("worktrees/b/src/f"))
	a.Fails(m.Put("worktrees/b", cacheDir, "f"), "EROFS")
	a.Fails(m.Move("main/"+cacheDir+"/f", "worktrees/b/src/new"), "EXDEV")
	a.Fails(m.Put("main/worktrees"), "EROFS")
}

// Where another kernel may move things about unseen, nothing is exempt. What the daemon
// does not know counts as such a file system; here it is one of message queues.
func TestNothingIsExemptOnAStoreOfSeveralHosts(t *testing.T) {
	base := harness.NewBase(t)
	source, mnt := filepath.Join(base, "source"), filepath.Join(base, "mnt")
	for _, dir := range []string{source, mnt} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	require.NoError(t, unix.Mount("mqueue", source, "mqueue", 0, ""))
	defer func() { require.NoError(t, unix.Unmount(source, 0)) }()
	m := &harness.Mount{T: t, Bin: harness.RequireBinary(t), Base: base}
	_, errs, exit := m.CLI("mount", source, mnt, "--control", filepath.Join(base, "control"), "--exempt", cacheRule)
	require.Equal(t, harness.ExitUsage, exit, errs)
	require.Contains(t, errs, "nothing can be exempt on this file system: other hosts may write there")
	require.Empty(t, harness.TopType(t, mnt))
}

// A mount without rules would move things about without looking at who writes where
// anybody may, so it does not come to one with rules, nor that one to it.
func TestMountsThatDisagreeAboutExemptPathsAreRefused(t *testing.T) {
	for _, with := range []bool{true, false} {
		o := harness.MountOptions{OnFree: "deny", Prepare: prepareCache}
		args := []string{"--exempt", "other/**"}
		if with {
			o.Extra, args = args, nil
		}
		m := harness.NewMount(t, o)
		other := filepath.Join(m.Base, "other")
		require.NoError(t, os.Mkdir(other, 0o755))
		args = append([]string{"mount", m.Source, other, "--control", m.LockDir}, args...)
		_, errs, exit := m.CLI(args...)
		require.Equal(t, harness.ExitUsage, exit, errs)
		require.Contains(t, errs, "must all have exempt paths, or none of them")
		require.Empty(t, harness.TopType(t, other))
		m.Unmount()
		m.MustCLI(args...)
		m.MustCLI("umount", other)
	}
}
