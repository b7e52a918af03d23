package fence

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// branchIs requires that a branch has a value, as git sees it.
func branchIs(t *testing.T, m *harness.Mount, branch, want string) {
	t.Helper()
	require.Equal(t, want, gitIn(t, m.View, "rev-parse", branch))
}

// No name above a branch leads git to another one: neither a symbolic link nor a directory from elsewhere.
func TestNoLinkOrDirectoryLeadsGitToAnotherBranch(t *testing.T) {
	m, main, _, b := gitMount(t)
	c := harness.StartActor(t, "c")
	m.Acquire(c, "src/deep/c")
	value := gitIn(t, m.View, "rev-parse", "t/c")
	evil := gitIn(t, m.View, "commit-tree", "-m", "evil", "HEAD^{tree}")
	exit, out := main.Run(m.At(), "", "git pack-refs --all --prune")
	require.Zero(t, exit, out)
	b.OK(text(m, ".worktrees/b/c", evil+"\n"))
	b.OK(harness.Command{Op: "mkdir", Path: m.At(".git/worktrees/b/heads"), Mode: 0o755})
	b.OK(text(m, ".git/worktrees/b/heads/a", evil+"\n"))
	b.OK(harness.Command{Op: "mkdir", Path: m.At(".git/lfs"), Mode: 0o755})
	b.OK(harness.Command{Op: "mkdir", Path: m.At(".git/lfs/d"), Mode: 0o755})
	b.OK(text(m, ".git/lfs/d/c", evil+"\n"))
	b.OK(text(m, ".git/lfs/c", evil+"\n"))
	b.Run(m.At(".git"), "", "rmdir refs/heads/t refs/heads refs/tags refs/remotes refs; rmdir logs/refs/heads/t logs/refs/heads logs/refs; true")
	b.Run(m.At(".git"), "", "mkdir -p refs; true")
	for _, how := range []harness.Command{
		{Op: "symlink", To: "../worktrees/b/heads", Path: m.At(".git/refs/heads")},
		{Op: "symlink", To: "worktrees/b", Path: m.At(".git/refs")},
		{Op: "symlink", To: "worktrees/b", Path: m.At(".git/logs")},
		{Op: "symlink", To: "worktrees/b", Path: m.At(".git/objects")},
		{Op: "mknod", Path: m.At(".git/refs/heads"), Mode: unix.S_IFIFO | 0o644},
		{Op: "link", Path: m.At(".git/lfs/c"), To: m.At(".git/refs/heads")},
		{Op: "rename", Path: m.At(".git/lfs/c"), To: m.At(".git/refs/heads")},
		{Op: "symlink", To: "../../worktrees/b/heads", Path: m.At(".git/refs/heads/t")},
		{Op: "symlink", To: "../../../worktrees/b/heads", Path: m.At(".git/logs/refs/heads/t")},
		{Op: "rename", Path: m.At(".git/lfs/d"), To: m.At(".git/refs/heads/t")},
		{Op: "rename", Path: m.At(".git/worktrees/b/heads"), To: m.At(".git/refs/heads/t")},
		{Op: "mknod", Path: m.At(".git/refs/heads/t"), Mode: unix.S_IFREG | 0o644},
		m.Put(".git/refs/heads/t"),
	} {
		require.NotEmpty(t, b.Do(how).Errno, "%+v", how)
		branchIs(t, m, "t/c", value)
	}
	exit, out = b.Run(m.At(), "", "git branch t/d && git branch -d t/d && git branch u/v")
	require.Zero(t, exit, out)
	exit, out = c.Run(m.At("src/deep/c"), "", "git -c user.name=n -c user.email=e commit --allow-empty -q -m x")
	require.Zero(t, exit, out)
}

// Whoever opened the file of a branch while nobody had it does not move it once somebody has it, by no
// name of the file.
func TestAnOldHandleDoesNotMoveABranchThatSomebodyTook(t *testing.T) {
	m, _, a, b := gitMount(t)
	exit, out := b.Run(m.At(), "", "git branch free && git branch linked")
	require.Zero(t, exit, out)
	value := gitIn(t, m.View, "rev-parse", "free")
	b.OK(harness.Command{Op: "open", Handle: "h", Path: m.At(".git/refs/heads/free"), Flags: unix.O_RDWR})
	b.OK(harness.Command{Op: "mmap", Handle: "h", Name: "map", Len: 10})
	b.OK(harness.Command{Op: "pwrite", Handle: "h", Data: []byte(value)})
	b.OK(harness.Command{Op: "open", Handle: "log", Path: m.At(".git/logs/refs/heads/free"), Flags: unix.O_WRONLY})
	for _, name := range []string{".git/refs/heads/second", ".git/lfs"} {
		b.Do(harness.Command{Op: "link", Path: m.At(".git/refs/heads/linked"), To: m.At(name)})
	}
	b.Run(m.At(".git"), "", "echo "+value+" > lfs1; mkdir -p lfs; echo "+value+" > lfs/1 && ln lfs/1 lfs/2 && mv lfs/1 refs/heads/third; mv lfs/2 refs/heads/fourth")

	exit, out = a.Run(m.At(".worktrees/a"), "", "git switch -q free")
	require.Zero(t, exit, out)
	b.Fails(harness.Command{Op: "pwrite", Handle: "h", Data: []byte("0123")}, "EROFS")
	b.Fails(harness.Command{Op: "ftruncate", Handle: "h"}, "EROFS")
	b.Fails(harness.Command{Op: "fallocate", Handle: "h", Len: 100}, "EROFS")
	b.Fails(harness.Command{Op: "pwrite", Handle: "log", Data: []byte("0123")}, "EROFS")
	b.Do(harness.Command{Op: "store", Name: "map", Data: []byte("0123")})
	b.Do(harness.Command{Op: "msync", Name: "map"})
	branchIs(t, m, "free", value)
	for _, pair := range [][2]string{{"linked", "second"}, {"third", "fourth"}} {
		if exit, _ := a.Run(m.At(".worktrees/a"), "", "git switch -q "+pair[0]); exit == 0 {
			b.Do(text(m, ".git/refs/heads/"+pair[1], strings.Repeat("1", 40)+"\n"))
			branchIs(t, m, pair[0], value)
		}
	}
	// A branch that stands for another one moves that.
	exit, out = b.Run(m.At(), "", "git branch trunk && git symbolic-ref refs/heads/alias refs/heads/trunk")
	require.Zero(t, exit, out)
	exit, out = a.Run(m.At(".worktrees/a"), "", "git switch -q alias")
	require.Zero(t, exit, out)
	exit, out = b.Run(m.At(), "", "git update-ref refs/heads/trunk "+gitIn(t, m.View, "commit-tree", "-m", "evil", "HEAD^{tree}"))
	require.NotZero(t, exit, out)
	branchIs(t, m, "trunk", value)
	// The other way round: a has left it, and b takes it.
	exit, out = a.Run(m.At(".worktrees/a"), "", "git switch -q a")
	require.Zero(t, exit, out)
	a.OK(harness.Command{Op: "open", Handle: "h", Path: m.At(".git/logs/refs/heads/a"), Flags: unix.O_WRONLY | unix.O_APPEND})
	exit, out = a.Run(m.At(".worktrees/a"), "", "git switch -q --detach")
	require.Zero(t, exit, out)
	exit, out = b.Run(m.At(".worktrees/b"), "", "git switch -q a")
	require.Zero(t, exit, out)
	a.Fails(harness.Command{Op: "write", Handle: "h", Data: []byte("late\n")}, "EROFS")
}

// An object never changes once it has its name.
func TestAGitObjectNeverChangesOnceNamed(t *testing.T) {
	m, _, _, b := gitMount(t)
	hash := gitIn(t, m.View, "rev-parse", "HEAD:src/f")
	object := ".git/objects/" + hash[:2] + "/" + hash[2:]
	was := harness.ReadText(t, m.Behind(object))
	b.Fails(text(m, object, "x"), "EROFS")
	b.Fails(harness.Command{Op: "chmod", Path: m.At("src/f"), Mode: 0o600}, "EROFS")
	b.OK(text(m, ".git/objects/tmp_1", "other"))
	b.Fails(harness.Command{Op: "rename", Path: m.At(".git/objects/tmp_1"), To: m.At(object)}, "EROFS")
	for _, pair := range [][2]string{{object, ".git/objects/tmp_1"}, {".git/objects/tmp_1", object}} {
		b.Fails(harness.Command{Op: "rename", Path: m.At(pair[0]), To: m.At(pair[1]), Flags: unix.RENAME_EXCHANGE}, "EROFS")
	}
	require.Equal(t, was, harness.ReadText(t, m.Behind(object)))

	// Who made it keeps no way to change it.
	for i, named := range []string{"rename", "link"} {
		tmp := m.At(".git/objects/tmp_2" + named)
		name := m.At(".git/objects/" + hash[:2] + "/" + strings.Repeat(string(rune('0'+i)), 38))
		b.OK(harness.Command{Op: "open", Handle: named, Path: tmp, Flags: unix.O_CREAT | unix.O_EXCL | unix.O_RDWR, Mode: 0o644})
		b.OK(harness.Command{Op: "write", Handle: named, Data: []byte("good")})
		b.OK(harness.Command{Op: named, Path: tmp, To: name})
		b.Fails(harness.Command{Op: "pwrite", Handle: named, Data: []byte("evil")}, "EROFS")
		b.Fails(harness.Command{Op: "ftruncate", Handle: named}, "EROFS")
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, "good", string(text))
	}
}

// packed-refs holds the branches of all checkouts. One that git and the mount would read differently is
// put in its place by nobody.
func TestPackedRefsThatGitWouldReadDifferentlyAreRefused(t *testing.T) {
	m, main, _, b := gitMount(t)
	exit, out := main.Run(m.At(), "", "git pack-refs --all --prune")
	require.Zero(t, exit, out)
	packed := harness.ReadText(t, m.Behind(".git/packed-refs"))
	value := gitIn(t, m.View, "rev-parse", "a")
	evil := strings.Repeat("1", 40)
	header, refs, _ := strings.Cut(packed, "\n")
	for what, text := range map[string]string{
		"changed":          strings.Replace(packed, value+" refs/heads/a\n", evil+" refs/heads/a\n", 1),
		"gone":             strings.Replace(packed, value+" refs/heads/a\n", "", 1),
		"twice":            header + "\n" + value + " refs/heads/a\n" + strings.Replace(refs, value+" refs/heads/a\n", evil+" refs/heads/a\n", 1),
		"unsorted":         header + "\n" + strings.Replace(refs, value+" refs/heads/a\n", "", 1) + value + " refs/heads/a\n",
		"a peeled line":    header + "\n^" + value + " refs/heads/a\n" + strings.Replace(refs, value+" refs/heads/a\n", "", 1),
		"a carriage":       strings.Replace(packed, " refs/heads/a\n", " refs/heads/a\r\n", 1),
		"a late header":    refs + header + "\n",
		"an indented line": strings.Replace(packed, value+" refs/heads/a\n", " "+value+" refs/heads/a\n", 1),
	} {
		b.OK(harness.Command{Op: "writefile", Path: m.At(".git/packed-refs.lock"), Flags: unix.O_CREAT | unix.O_EXCL, Mode: 0o644, Data: []byte(text)})
		require.NotEmpty(t, b.Do(m.Move(".git/packed-refs.lock", ".git/packed-refs")).Errno, what)
		b.OK(harness.Command{Op: "unlink", Path: m.At(".git/packed-refs.lock")})
		branchIs(t, m, "refs/heads/a", value)
	}
	exit, out = b.Run(m.At(), "", "git tag v1 && git pack-refs --all --prune && git tag -d v1 && git branch f && git pack-refs --all && git branch -D f")
	require.Zero(t, exit, out)
}

// git pack-refs reads the refs, and then takes its time. A branch that went on meanwhile has a file of its
// own, which counts; so nobody waits for whoever works on it. Where that file says nothing, the other
// value would count.
func TestPackedRefsNeverReviveAnOldValueOfABranch(t *testing.T) {
	m, main, a, b := gitMount(t)
	exit, out := main.Run(m.At(), "", "git pack-refs --all --prune")
	require.Zero(t, exit, out)
	value := gitIn(t, m.View, "rev-parse", "a")
	packed := harness.ReadText(t, m.Behind(".git/packed-refs"))
	exit, out = a.Run(m.At(".worktrees/a"), "", "git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m on")
	require.Zero(t, exit, out)
	now := gitIn(t, m.View, "rev-parse", "a")
	require.NotEqual(t, value, now)
	put := func(old string) harness.Reply {
		text := strings.Replace(packed, value+" refs/heads/a\n", old, 1)
		b.Do(harness.Command{Op: "unlink", Path: m.At(".git/packed-refs.lock")})
		b.OK(harness.Command{Op: "writefile", Path: m.At(".git/packed-refs.lock"), Flags: unix.O_CREAT | unix.O_EXCL, Mode: 0o644, Data: []byte(text)})
		return b.Do(m.Move(".git/packed-refs.lock", ".git/packed-refs"))
	}
	for _, old := range []string{strings.Repeat("1", 40) + " refs/heads/a\n", "", value + " refs/heads/a\n"} {
		require.Empty(t, put(old).Errno)
		branchIs(t, m, "refs/heads/a", now)
	}
	exit, out = main.Run(m.At(), "", "git -c user.name=m -c user.email=m@example.org commit -q --allow-empty -m on")
	require.Zero(t, exit, out)
	b.Fails(harness.Command{Op: "unlink", Path: m.At(".git/packed-refs")}, "EROFS") // tags and the branches of nobody would be lost
	for _, torn := range []string{"", now[:39] + "\n", "x" + now[1:] + "\n"} {
		a.OK(text(m, ".git/refs/heads/a", torn))
		require.Equal(t, "EROFS", put("").Errno, torn)
	}
}

// Nobody changes what has been judged before it is put in its place.
func TestPackedRefsThatChangeAfterTheJudgementAreRefused(t *testing.T) {
	m, main, _, b := gitMount(t)
	c := harness.StartActor(t, "c")
	exit, out := main.Run(m.At(), "", "git pack-refs --all --prune")
	require.Zero(t, exit, out)
	value := gitIn(t, m.View, "rev-parse", "a")
	good := harness.ReadText(t, m.Behind(".git/packed-refs"))
	evil := strings.Replace(good, value+" refs/heads/a\n", strings.Repeat("1", 40)+" refs/heads/a\n", 1)
	lock := m.At(".git/packed-refs.lock")
	for range harness.Rounds(40) {
		b.OK(harness.Command{Op: "mknod", Path: lock, Mode: unix.S_IFREG | 0o644})
		b.OK(harness.Command{Op: "writefile", Path: lock, Data: []byte(good)})
		c.OK(harness.Command{Op: "open", Handle: "h", Path: lock, Flags: unix.O_WRONLY})
		done := b.Begin(m.Move(".git/packed-refs.lock", ".git/packed-refs"))
		for range 5 {
			c.Do(harness.Command{Op: "pwrite", Handle: "h", Data: []byte(evil)})
		}
		if r := <-done; r.Errno != "" {
			b.OK(harness.Command{Op: "unlink", Path: lock})
		}
		c.OK(harness.Command{Op: "close", Handle: "h"})
		branchIs(t, m, "refs/heads/a", value)
	}
}

// A checkout whose HEAD is no file harms nobody else, and the mount waits for nothing. (git itself waits
// for a FIFO.)
func TestACheckoutWhoseHeadIsNoFileHarmsNobodyElse(t *testing.T) {
	m, _, a, b := gitMount(t)
	value := gitIn(t, m.View, "rev-parse", "a")
	for _, how := range []string{"mkfifo HEAD", "mkdir HEAD", "ln -s HEAD HEAD", "ln -s /dev/zero HEAD", "truncate -s 1G HEAD", "mkfifo BISECT_START"} {
		exit, out := b.Run(m.At(".git/worktrees/b"), "", "rm -rf HEAD BISECT_START; "+how)
		require.Zero(t, exit, out)
		a.OK(text(m, ".git/refs/heads/a", value+"\n"))
		b.Fails(m.Put(".git/refs/heads/a"), "EROFS")
		b.OK(text(m, ".git/refs/heads/nobodys", value+"\n"))
	}
}
