package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
	withFiles("src/f", "src/g", "src/linked", cacheDir+"/f", cacheDir+"/g", cacheDir+"/d/f", cacheDir+"/repo/.git/config",
		cacheDir+"/repo/f", cacheDir+"/x/.jvs/f")(t, tree)
	require.NoError(t, os.Link(filepath.Join(tree, "src/linked"), filepath.Join(tree, cacheDir, "linked")))
	require.NoError(t, os.Symlink("../../src/f", filepath.Join(tree, cacheDir, "out")))
	require.NoError(t, os.Symlink("../../src", filepath.Join(tree, cacheDir, "outdir")))
	require.NoError(t, os.Symlink("../app/cache/f", filepath.Join(tree, "src/in")))
}

// newCache mounts a tree with a cache; the holder holds, the stranger does not.
func newCache(t *testing.T, extra ...string) (m *mount, holder, stranger *actor) {
	t.Helper()
	m = newMount(t, mountOptions{onFree: "deny", extra: append([]string{"--exempt", cacheRule}, extra...), prepare: prepareCache})
	holder, stranger = startActor(t, "holder"), startActor(t, "stranger")
	m.acquire(holder)
	return m, holder, stranger
}

// ofHardLinks are the rows that stay refused in an exempt directory, because the file
// has another name.
var ofHardLinks = map[string]bool{"unlink of one of two links": true}

// Where anybody may write, every row of the matrix that is refused elsewhere lands by
// somebody who holds nothing, while somebody else holds the lease.
func TestExemptMatrixInside(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", extra: []string{"--exempt", "**/node_modules/.cache/**"}, prepare: func(t testing.TB, tree string) {
		require.NoError(t, os.MkdirAll(filepath.Join(tree, "x/node_modules/.cache"), 0o755))
		prepareRows(t, filepath.Join(tree, "x/node_modules/.cache"))
	}})
	holder, a := startActor(t, "holder"), startActor(t, "stranger")
	m.acquire(holder)
	for _, r := range allRows() {
		t.Run(r.name, func(t *testing.T) {
			opened, err := a.try(command{Op: "row.open", Path: m.At("x/node_modules/.cache"), Name: r.name})
			require.NoError(t, err)
			require.Empty(t, opened.Errno)
			before := m.digest()
			got, err := a.try(command{Op: "row.run", Path: m.At("x/node_modules/.cache"), Name: r.name})
			require.NoError(t, err)
			if ofHardLinks[r.name] {
				assert.Equal(t, "EROFS", got.Errno)
				assert.Empty(t, before.diff(m.digest()))
				return
			}
			assert.Empty(t, got.Errno, got.Note)
			assert.Equal(t, harmless[r.name], len(before.diff(m.digest())) == 0, "a trace in the tree")
			_, err = a.try(command{Op: "row.drop", Path: m.At("x/node_modules/.cache"), Name: r.name})
			require.NoError(t, err)
		})
	}
}

// Rules for other places open nothing here.
func TestExemptMatrixOutside(t *testing.T) {
	c := newCast(t, mountOptions{onFree: "deny", extra: []string{"--exempt", "**/.cache/**", "--exempt", "rows/other/*.o"}, prepare: prepareStage})
	c.openHandles()
	c.m.release(c.former)
	c.m.acquire(c.usurper)
	c.refuseAll(func(row) bool { return true })
}

// A read-only mount is one for everybody.
func TestExemptReadOnly(t *testing.T) {
	m := newMount(t, mountOptions{extra: []string{"--exempt", cacheRule, "--enforce", "readonly"}, prepare: prepareCache})
	a := startActor(t, "a")
	before := m.digest()
	a.fails(m.put(cacheDir, "f"), "EROFS")
	a.fails(m.put(cacheDir, "new"), "EROFS")
	require.Empty(t, before.diff(m.digest()))
}

// exemptBorder is everything by which a stranger could get something over the border,
// at the directory itself, or around it by links.
func exemptBorder(m *mount) map[string]command {
	in := func(rel string) string { return m.At(cacheDir, rel) }
	move := func(from, to string, flags int) command {
		return command{Op: "rename", Path: from, To: to, Flags: flags}
	}
	write := func(path string) command {
		return command{Op: "writefile", Path: path, Flags: unix.O_TRUNC, Data: []byte("late")}
	}
	return map[string]command{
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
		"times of the root":             {Op: "utimes", Path: m.At(cacheDir)},
		"xattr of the root":             {Op: "setxattr", Path: m.At(cacheDir), Name: "user.x", Data: []byte("x")},
		"make another root":             {Op: "mkdir", Path: m.At("src/cache"), Mode: 0o755},
		"write beside":                  m.put("app", "new"),
		"write through ..":              write(in("d") + "/../../../src/f"),
		"write through a symlink":       write(in("out")),
		"write through a directory":     write(in("outdir/f")),
		"create through a directory":    m.put(cacheDir, "outdir", "new"),
		"truncate through a symlink":    {Op: "truncate", Path: in("out"), Len: 1},
		"chmod through a symlink":       {Op: "chmod", Path: in("out"), Mode: 0o600},
		"write a hard link":             write(in("linked")),
		"truncate a hard link":          {Op: "truncate", Path: in("linked"), Len: 1},
		"chmod a hard link":             {Op: "chmod", Path: in("linked"), Mode: 0o600},
		"xattr of a hard link":          {Op: "setxattr", Path: in("linked"), Name: "user.x", Data: []byte("x")},
		"unlink a hard link":            {Op: "unlink", Path: in("linked")},
		"write the other name":          write(m.At("src/linked")),
		"write below .git":              write(in("repo/.git/config")),
		"create below .git":             m.put(cacheDir, "repo/.git/new"),
		"make .git":                     {Op: "mkdir", Path: in("d/.git"), Mode: 0o755},
		"make .git as a file":           m.put(cacheDir, "d", ".git"),
		"chmod .git":                    {Op: "chmod", Path: in("repo/.git"), Mode: 0o700},
		"write below .jvs":              write(in("x/.jvs/f")),
		"make .jvs":                     {Op: "mkdir", Path: in(".jvs"), Mode: 0o755},
		"symlink as .jvs":               {Op: "symlink", To: "f", Path: in(".jvs")},
		"write outside":                 write(m.At("src/f")),
		"rename within what is guarded": move(m.At("src/f"), m.At("src/h"), 0),
	}
}

// Nothing gets over the border without the lease, and nothing is left behind.
func TestExemptBorder(t *testing.T) {
	m, _, stranger := newCache(t)
	before := m.digest()
	for name, c := range exemptBorder(m) {
		t.Run(name, func(t *testing.T) {
			r, err := stranger.try(c)
			require.NoError(t, err)
			assert.Equal(t, "EROFS", r.Errno)
			assert.Empty(t, before.diff(m.digest()))
		})
	}
	stranger.ok(command{Op: "writefile", Path: m.At("src/in"), Flags: unix.O_TRUNC, Data: []byte("by the symlink")})
	require.Equal(t, "by the symlink", readText(t, m.Behind(cacheDir, "f")), "a symlink into the cache leads to what anybody may write")
}

// The holder may do what a stranger may not: across the border, too.
func TestExemptHolderCrosses(t *testing.T) {
	m, holder, stranger := newCache(t)
	holder.ok(m.move(cacheDir+"/f", "src/new"))
	stranger.fails(command{Op: "writefile", Path: m.At("src/new"), Data: []byte("late")}, "EROFS")
	holder.ok(m.move("src/g", cacheDir+"/mine"))
	stranger.ok(command{Op: "writefile", Path: m.At(cacheDir, "mine"), Flags: unix.O_TRUNC, Data: []byte("theirs")})
	holder.ok(command{Op: "unlink", Path: m.At(cacheDir, "linked")})
	holder.ok(command{Op: "rename", Path: m.At("app"), To: m.At("app2")})
	stranger.fails(m.put("app2/cache/mine"), "EROFS")
	stranger.fails(command{Op: "mkdir", Path: m.At("app"), Mode: 0o755}, "EROFS")
	holder.ok(command{Op: "mkdir", Path: m.At("app"), Mode: 0o755})
	stranger.fails(command{Op: "mkdir", Path: m.At("app/cache"), Mode: 0o755}, "EROFS")
	holder.ok(command{Op: "mkdir", Path: m.At("app/cache"), Mode: 0o755})
	stranger.ok(m.put("app/cache/new"))
	require.Equal(t, "put", readText(t, m.Behind("app/cache/new")))
}

// A file that gets its last other name taken away is a file with one name again.
func TestExemptHardLinkThatGoes(t *testing.T) {
	m, holder, stranger := newCache(t)
	late := command{Op: "writefile", Path: m.At(cacheDir, "linked"), Flags: unix.O_TRUNC, Data: []byte("theirs")}
	stranger.fails(late, "EROFS")
	holder.ok(command{Op: "unlink", Path: m.At("src/linked")})
	stranger.ok(late)
	require.Equal(t, "theirs", readText(t, m.Behind(cacheDir, "linked")))
}

// Asked for twice, .git is as open as anything else; by halves it is not.
func TestExemptGit(t *testing.T) {
	m := prepareMount(t, mountOptions{onFree: "deny", prepare: prepareCache})
	for _, c := range []struct{ args, want string }{
		{"--exempt=**/.git/**", "exempt_git"},
		{"--exempt-git --exempt=**/.g*/**", "write .git itself"},
		{"--exempt-git --exempt=**/.jvs/**", ".jvs is never exempt"},
		{"--exempt=**", "everything"},
		{"--exempt=/abs", "relative"},
	} {
		args := append([]string{"mount", m.Source, m.Mountpoint, "--control", m.LockDir}, strings.Fields(c.args)...)
		_, errs, exit := m.CLI(args...)
		require.Equal(t, exitUsage, exit, "%s\n%s", c.args, errs)
		require.Contains(t, errs, c.want, c.args)
	}
	m.opts.extra = []string{"--exempt", cacheDir + "/repo/.git/**", "--exempt-git"}
	m.mount()
	a := startActor(t, "a")
	a.ok(m.put(cacheDir, "repo/.git/config"))
	a.fails(m.put(cacheDir, "repo/f"), "EROFS")
	a.fails(command{Op: "mkdir", Path: m.At(cacheDir, "repo/.git/.jvs"), Mode: 0o755}, "EROFS")
}

// In a repository the rules hold in each worktree from its own root, and one can have
// rules of its own.
func TestExemptInARepository(t *testing.T) {
	m := prepareMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", prepare: prepareCache})
	for _, name := range []string{"a", "b"} {
		prepareCache(t, m.Behind("worktrees", name))
	}
	m.opts.extra = []string{"--config", m.writeConfig("c.yaml", "exempt: ['"+cacheRule+"']\nworktrees:\n  a: {exempt: []}\n  b: {exempt: ['src/*']}\n")}
	m.mount()
	a := startActor(t, "a")
	a.ok(m.put("main", cacheDir, "f"))
	a.fails(m.put("main/src/f"), "EROFS")
	a.fails(m.put("worktrees/a", cacheDir, "f"), "EROFS")
	a.ok(m.put("worktrees/b/src/f"))
	a.fails(m.put("worktrees/b", cacheDir, "f"), "EROFS")
	a.fails(m.move("main/"+cacheDir+"/f", "worktrees/b/src/new"), "EXDEV")
	a.fails(m.put("main/worktrees"), "EROFS")
}

// Where another kernel may move things about unseen, nothing is exempt. What the daemon
// does not know counts as such a file system; here it is one of message queues.
func TestExemptNeedsAStoreOfThisKernel(t *testing.T) {
	requireFuse(t)
	base := newBase(t)
	source, mnt := filepath.Join(base, "source"), filepath.Join(base, "mnt")
	for _, dir := range []string{source, mnt} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	require.NoError(t, unix.Mount("mqueue", source, "mqueue", 0, ""))
	defer func() { require.NoError(t, unix.Unmount(source, 0)) }()
	m := &mount{t: t, bin: requireBinary(t), base: base}
	_, errs, exit := m.CLI("mount", source, mnt, "--control", filepath.Join(base, "control"), "--exempt", cacheRule)
	require.Equal(t, exitUsage, exit, errs)
	require.Contains(t, errs, "nothing can be exempt on this file system: other hosts may write there")
	require.Empty(t, topType(t, mnt))
}

// A mount without rules would move things about without looking at who writes where
// anybody may, so it does not come to one with rules, nor that one to it.
func TestExemptMountsMustAgree(t *testing.T) {
	for _, with := range []bool{true, false} {
		o := mountOptions{onFree: "deny", prepare: prepareCache}
		args := []string{"--exempt", "other/**"}
		if with {
			o.extra, args = args, nil
		}
		m := newMount(t, o)
		other := filepath.Join(m.base, "other")
		require.NoError(t, os.Mkdir(other, 0o755))
		args = append([]string{"mount", m.Source, other, "--control", m.LockDir}, args...)
		_, errs, exit := m.CLI(args...)
		require.Equal(t, exitUsage, exit, errs)
		require.Contains(t, errs, "must all have exempt paths, or none of them")
		require.Empty(t, topType(t, other))
		m.unmount()
		m.cliOK(args...)
		m.cliOK("umount", other)
	}
}
