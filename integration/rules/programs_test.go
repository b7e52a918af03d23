package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// The programs themselves, under the presets that tell of their lock files: git and Vim here, and those that are too
// large for every run in scripts/presets-test.sh.

// work is a directory in a mount that has one preset, and a stranger to the program's locks.
type work struct {
	*harness.Mount
	t        *testing.T
	env      string
	stranger *harness.Actor
}

func workUnder(t *testing.T, preset string, prepare ...func(testing.TB, string)) *work {
	t.Helper()
	m := harness.NewMount(t, harness.MountOptions{
		Prepare: harness.PrepareAll(prepare...), Extra: []string{"--mode", "shared", "--rules", preset},
	})
	var env []string
	for _, v := range harness.GitEnv(t, filepath.Join(m.Base, "home")) {
		env = append(env, "'"+v+"'")
	}
	return &work{m, t, "export " + strings.Join(env, " ") + "; ", harness.StartActor(t, "stranger")}
}

// does runs a line of shell in the mount, in a session of its own, to its end.
func (w *work) does(line string) string {
	w.t.Helper()
	exit, out := w.stranger.Run(w.At(), "setsid", w.env+line)
	require.Zero(w.t, exit, "%s: %s", line, out)
	return out
}

// begins runs a line of shell that waits at a gate of its own (waits), and comes back when it is there.
func (w *work) begins(line string) (goOn func(), b *harness.Background) {
	w.t.Helper()
	gate := filepath.Join(w.Base, "gate")
	_ = os.Remove(gate)
	require.NoError(w.t, unix.Mkfifo(gate, 0o600))
	b = w.Start("sh", "-c", "cd "+w.At()+"; "+w.env+line)
	fd := -1
	harness.EventuallyNoted(w.t, "it waits: "+line, func() (bool, string) {
		var err error
		fd, err = unix.Open(gate, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err == nil, operation.ErrnoName(err) + harness.ReadText(w.t, b.File)
	})
	w.t.Cleanup(func() { _ = unix.Close(fd) }) // the second time it is closed already
	return func() { require.NoError(w.t, unix.Close(fd)); fd = -1 }, b
}

// waits is a line of shell that waits until the story goes on.
func (w *work) waits() string { return "cat " + filepath.Join(w.Base, "gate") }

// A git that edits its message has the index locked. Nobody takes that lock from it, and nobody writes what it guards.
func TestNobodyTakesTheIndexLockOfALivingGit(t *testing.T) {
	w := workUnder(t, "git")
	w.does("git init -q . && echo one >f && git add f && git commit -qm one")
	goOn, git := w.begins("echo two >f; GIT_EDITOR='" + w.waits() + "; echo two >' git commit -qa")
	lock, index := w.At(".git", "index.lock"), w.At(".git", "index")
	require.FileExists(t, lock)
	try(t, w.stranger, []attempt{
		{"the lock is removed", harness.Command{Op: "unlink", Path: lock}, "EROFS"},
		{"the lock is renamed", harness.Command{Op: "rename", Path: lock, To: w.At("away")}, "EROFS"},
		{"the lock is taken", harness.Command{Op: "writefile", Path: lock, Flags: unix.O_CREAT | unix.O_EXCL}, "EEXIST"},
		{"the index is written", harness.Command{Op: "writefile", Path: index, Data: []byte("x")}, "EROFS"},
		{"the index is replaced", harness.Command{Op: "rename", Path: w.At("f"), To: index}, "EROFS"},
		{"work goes on", harness.Command{Op: "writefile", Path: w.At("g"), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("x")}, ""},
	})
	goOn()
	exit, said := git.Wait()
	require.Zero(t, exit, said)
	require.Equal(t, "two\none\n", w.does("git log --format=%s"))
	require.Empty(t, harness.GitLitter(t, w.Behind(".git")))
}

// What a git that was killed has left does not stop the next one.
func TestTheLockOfAKilledGitIsGone(t *testing.T) {
	w := workUnder(t, "git")
	w.does("git init -q . && echo one >f && git add f && git commit -qm one")
	_, git := w.begins("echo two >f; exec env GIT_EDITOR='" + w.waits() + "; echo two >' git commit -qa")
	lock := w.At(".git", "index.lock")
	require.FileExists(t, lock)
	git.Kill()
	harness.Eventually(t, "the lock is gone", func() bool {
		_, err := os.Lstat(w.Behind(".git", "index.lock"))
		return os.IsNotExist(err)
	})
	w.does("git commit -qam three")
	require.Equal(t, "three\none\n", w.does("git log --format=%s"))
}

// Objects never change, whoever wants it, and all that git does with a repository passes.
func TestEverydayGitWorksUnderItsPreset(t *testing.T) {
	w := workUnder(t, "git")
	w.does("git init -q -b main . && echo one >f && git add f && git commit -qm one")
	objects, err := filepath.Glob(w.At(".git", "objects", "??", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, objects)
	for _, object := range objects {
		try(t, w.stranger, []attempt{
			{"chmod", harness.Command{Op: "chmod", Path: object, Mode: 0o644}, "EROFS"},
			{"truncate", harness.Command{Op: "truncate", Path: object}, "EROFS"},
			{"replace", harness.Command{Op: "rename", Path: w.At("f"), To: object}, "EROFS"},
		})
	}
	for _, line := range []string{
		"git switch -qc topic && echo two >>f && git commit -qam two && git switch -q main",
		"echo g >g && git add g && git commit -qm g && git merge -q --no-edit topic",
		"git branch other HEAD~1 && git switch -q other && echo h >h && git add h && git commit -qm h && git rebase -q main",
		"echo more >>f && git stash -q && git stash pop -q && git checkout -q f",
		"git commit -q --amend -m amended && git tag -a -m t v1 && git reset -q --hard HEAD~1",
		"git config user.name b && git remote add r . && git fetch -q r && git reflog expire --expire=now --all",
		"git worktree add -q ../w main 2>&1 || git worktree add -q w main; git worktree remove w",
		"git gc -q --prune=now && git fsck --full --strict && git repack -qad && git pack-refs --all",
		"git clone -q . clone && git -C clone commit -q --allow-empty -m c && git pull -q clone HEAD",
	} {
		out := w.does(line + " && git status --porcelain")
		require.NotRegexp(t, `(?i)read-only|denied|unable`, out, line)
	}
	require.Empty(t, harness.GitLitter(t, w.Behind(".git")))
}

// What is open in Vim is not changed by anybody else, until Vim is left. What a killed Vim leaves can be recovered.
func TestAFileOpenInVimIsChangedByNobodyElse(t *testing.T) {
	w := workUnder(t, "vim-swap", harness.WithFiles("f.txt", "g.txt"))
	vim := func(commands string) string {
		return fmt.Sprintf("exec vim -es -u NONE -i NONE --cmd 'set swapfile directory=.' %s f.txt </dev/null", commands)
	}
	opened := []string{"-c 'normal Oin vim'", "-c preserve", "-c '!" + w.waits() + "'"}
	goOn, editor := w.begins(vim(strings.Join(append(opened, "-c wq"), " ")))
	require.FileExists(t, w.At(".f.txt.swp"))
	try(t, w.stranger, []attempt{
		{"what is open is written", harness.Command{Op: "writefile", Path: w.At("f.txt"), Data: []byte("x")}, "EROFS"},
		{"what is open is replaced", harness.Command{Op: "rename", Path: w.At("g.txt"), To: w.At("f.txt")}, "EROFS"},
		{"its swap file is removed", harness.Command{Op: "unlink", Path: w.At(".f.txt.swp")}, "EROFS"},
		{"another file", harness.Command{Op: "writefile", Path: w.At("g.txt"), Data: []byte("x")}, ""},
	})
	goOn()
	exit, said := editor.Wait()
	require.Zero(t, exit, said)
	require.Contains(t, harness.ReadText(t, w.Behind("f.txt")), "in vim")
	require.NoFileExists(t, w.Behind(".f.txt.swp"))

	_, editor = w.begins(vim(strings.Join(opened, " ")))
	editor.Kill()
	swap := w.At(".f.txt.swp")
	require.FileExists(t, swap, "lost work is recovered from it")
	harness.Eventually(t, "who looks after it may remove it", func() bool {
		r := w.stranger.Do(harness.Command{Op: "unlink", Path: swap})
		return r.Errno == ""
	})
	w.stranger.OK(harness.Command{Op: "writefile", Path: w.At("f.txt"), Data: []byte("x")})
}
