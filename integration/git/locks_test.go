package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A `.lock` of git's is whose process made it: nobody else takes it away while that lives, and
// it goes when that is killed, which natively locks everybody out until a person removes it.

// lockers are commands that take a lock and keep it until they may go on.
var lockers = map[string]struct{ dir, lock, line string }{
	"the index of a worktree":      {".worktrees/a", ".git/worktrees/a/index.lock", `echo x >f; GIT_EDITOR="cat $GATE >>" exec git commit -a`},
	"the index of the main one":    {"", ".git/index.lock", `echo x >f; GIT_EDITOR="cat $GATE >>" exec git commit -a`},
	"a branch that nobody is on":   {".worktrees/b", ".git/refs/heads/loose.lock", prepared("refs/heads/loose")},
	"a tag":                        {".worktrees/b", ".git/refs/tags/t.lock", prepared("refs/tags/t")},
	"HEAD of a worktree":           {".worktrees/b", ".git/worktrees/b/HEAD.lock", prepared("HEAD")},
	"the configuration, by a tool": {".worktrees/b", ".git/config.lock", `exec python3 -c 'import os; os.open(os.environ["R"]+"/.git/config.lock", os.O_CREAT|os.O_EXCL|os.O_WRONLY); open(os.environ["GATE"]).read()'`},
}

func prepared(ref string) string {
	return `mkfifo $BASE/in; exec 3<>$BASE/in; printf 'start\nupdate ` + ref + ` %s\nprepare\n' $(git rev-parse b~1) >&3; exec git update-ref --stdin <&3`
}

// locker starts one of the commands, and waits until it has its lock.
func (g *ground) locker(dir, lock, line string) *exec.Cmd {
	g.t.Helper()
	g.t.Setenv("GATE", filepath.Join(g.Base, "gate"))
	_ = unix.Mkfifo(filepath.Join(g.Base, "gate"), 0o600) // it may be there
	cmd := exec.Command("sh", "-euc", line)
	cmd.Dir = g.At(dir)
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	require.NoError(g.t, cmd.Start())
	g.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
			_ = cmd.Wait() // it was killed
		}
	})
	harness.Eventually(g.t, "the lock is there", func() bool {
		_, err := os.Stat(g.Behind(lock))
		return err == nil
	})
	return cmd
}

func TestALockFileOfALivingGitCannotBeRemoved(t *testing.T) {
	for name, c := range lockers {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, threeCheckouts)
			g.locker(c.dir, c.lock, c.line)
			g.refused(g.Source, "rm -f "+c.lock)
			g.refused(g.Source, "mv "+c.lock+" "+c.lock+".away")
			g.refused(g.Source, ": >.git/OTHER.lock; mv -f .git/OTHER.lock "+c.lock)
			g.refused(g.Source, "echo x >>"+c.lock)
			g.sh(g.At(".worktrees/a"), "git status --porcelain")
			require.FileExists(t, g.Behind(c.lock))
		})
	}
}

func TestALockFileOfAKilledGitIsGone(t *testing.T) {
	if native {
		t.Skip("natively it stays")
	}
	for name, c := range lockers {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, threeCheckouts)
			cmd := g.locker(c.dir, c.lock, c.line)
			require.NoError(t, unix.Kill(cmd.Process.Pid, unix.SIGKILL)) // and not what it has started
			_ = cmd.Wait()                                               // it was killed
			harness.Eventually(t, "the lock is gone", func() bool {
				_, err := os.Stat(g.Behind(c.lock))
				return os.IsNotExist(err)
			})
			_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // its editor
			g.sh(g.At(c.dir), "git add -A; git commit -q --allow-empty -m after; git tag -f t; git config a.b c; git update-ref refs/heads/loose HEAD")
			g.sh(g.Source, "find .git/objects -name 'tmp_obj_*' -delete") // what the killed one was writing stays, as natively
			g.requireWhole(g.Source)
		})
	}
}

// What ends in .lock and is no lock of git's stays: files of a worktree or a clone that lies in the repository, and of a tool.
func TestFilesThatOnlyLookLikeGitLocksStay(t *testing.T) {
	more := anOrdinaryOne + "mkdir web; echo 1 >Cargo.lock; echo 2 >web/yarn.lock; git add .; git commit -q -m locks\n"
	for name, c := range map[string]struct{ make, in string }{
		"below .git":             {more, ".git"},
		"in the bare repository": {"mkdir $BASE/seed; cd $BASE/seed; " + more + "cd $R; git clone -q --bare $BASE/seed .", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, c.make)
			in := g.At(c.in)
			g.sh(in, "git worktree add -q -b x tools/x")
			g.sh(in, "git clone -q . tools/clone")
			g.sh(in, "mkdir tool; echo data >tool/requirements.lock; : >agents.lock")
			g.sh(in, ": >MARK.lock") // a name of git's: those before it have been judged when it goes
			harness.Eventually(t, "the lock of who has ended is gone", func() bool {
				_, err := os.Stat(g.Behind(c.in, "MARK.lock"))
				return os.IsNotExist(err) || native
			})
			for _, name := range []string{"tools/x/Cargo.lock", "tools/x/web/yarn.lock", "tools/clone/Cargo.lock", "tools/clone/web/yarn.lock", "tool/requirements.lock", "agents.lock"} {
				require.FileExists(t, g.Behind(c.in, name))
			}
			require.Empty(t, g.sh(in, "git -C tools/x status --porcelain; git -C tools/clone status --porcelain"))
		})
	}
}

// A lock that was there before the mount is nobody's: a person removes it, as ever.
func TestALockFileFromBeforeTheMountCanBeRemoved(t *testing.T) {
	g := prepareGround(t, threeCheckouts+"\n: >.git/worktrees/a/index.lock")
	g.mount()
	r := g.in(g.At(".worktrees/a")).Run("git", "add", "untracked")
	require.NotZero(t, r.Exit)
	require.Contains(t, r.Errs, "index.lock")
	g.sh(g.At(".worktrees/a"), "rm $R/.git/worktrees/a/index.lock; git add untracked")
}

// written is what git says natively of a file that somebody writes while git status reads it.
var written = regexp.MustCompile(`(?m)^error: short read while indexing .*\n`)

// Pollers of the status (shells' prompts, editors) take the lock of the index of a checkout that
// somebody holds. They get an answer, and the holder never meets their lock.
func TestStatusPollersNeverDisturbTheHolder(t *testing.T) {
	if native {
		t.Skip("natively the holder meets it")
	}
	g := newGround(t, threeCheckouts)
	dir := g.At(".worktrees/a")
	holder, _ := g.hold("holder", ".worktrees/a")
	stop := filepath.Join(g.Base, "stop")
	var pollers []*harness.Background
	for range 2 {
		pollers = append(pollers, g.Start("sh", "-euc", fmt.Sprintf("cd %s; n=0; until test -e %s; do git status --porcelain >/dev/null; n=$((n+1)); done; echo polls $n", dir, stop)))
	}
	for i := range harness.Rounds(10) {
		g.run(holder, dir, fmt.Sprintf("echo %d >f; touch sub/*; git add f; git commit -q -m 'number %d'; touch sub/*", i, i))
	}
	g.run(holder, dir, "git rebase -q --force-rebase HEAD~5 && git reset -q --hard HEAD~1")
	require.NoError(t, os.WriteFile(stop, nil, 0o644))
	for _, p := range pollers {
		exit, said := p.Wait()
		said = written.ReplaceAllString(said, "")
		require.Zero(t, exit, said)
		require.True(t, strings.HasPrefix(said, "polls "), said)
		require.NotContains(t, said, "polls 0")
	}
	g.requireWhole(g.Source)
}
