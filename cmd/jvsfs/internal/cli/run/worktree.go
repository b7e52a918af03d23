package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
)

// checkBranch refuses a name that is no branch's. It is a path, too; git allows no "..", and nothing that begins
// with a dot.
func checkBranch(name string) error {
	// Not in the repository: another run that mounts it meanwhile would take this git for a process that writes past the mount.
	_, err := git("/", "check-ref-format", "refs/heads/"+name)
	if _, is := errors.AsType[*exec.ExitError](err); is || strings.HasPrefix(name, "-") || name == "HEAD" {
		return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("--worktree %s is no name for a branch", human.Typed(name)), Next: "--worktree agent1; git check-ref-format --help has the rules"}
	}
	return err
}

// makeWorktree makes the git worktree and branch of a name in the repository of dir, or finds them. made says
// what was done.
func makeWorktree(dir, name string) (path, made string, err error) {
	repository, ok := place.RepositoryOver(dir)
	if !ok {
		return "", "", noRepository(dir)
	}
	path = filepath.Join(repository, ".worktrees", name)
	branch, is, err := checkedOutAt(repository, path)
	if err != nil {
		return "", "", err
	}
	if is && isDirectory(path) {
		return path, branchText(branch), nil
	}
	if is {
		return "", "", &api.Failure{Message: "--worktree: git knows a worktree at " + human.Printable(path) + ", and its directory is missing",
			Next: "git -C " + human.Typed(repository) + " worktree remove " + human.Typed(path) + " forgets it, and keeps its branch (worktree unlock first if it is locked)"}
	}
	add := []string{"worktree", "add", "-b", name, path}
	made = "new branch " + name
	if _, err := git(repository, "show-ref", "--verify", "--quiet", "refs/heads/"+name); err == nil {
		add, made = []string{"worktree", "add", path, name}, "new worktree of branch "+name
	}
	_, err = git(dir, add...)
	return path, made, err
}

func noRepository(dir string) error {
	f := &api.Failure{Class: api.ClassUsage, Message: "--worktree: " + dir + " is in no git repository", Next: "git init " + human.Typed(dir) + " makes one; or leave out --worktree"}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		f.Message, f.Next = "--worktree: "+dir+" is a worktree of a repository that lies elsewhere", "give the directory of that repository; git worktree list shows it first"
	}
	return f
}

func branchText(branch string) string {
	if branch == "" {
		return "on no branch"
	}
	return "branch " + branch
}

// checkedOutAt finds a checkout of a repository by its path, and its branch, which is "" for a detached HEAD.
func checkedOutAt(repository, path string) (branch string, is bool, err error) {
	out, err := git(repository, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return "", false, err
	}
	for text := range strings.SplitSeq(out, "\x00\x00") {
		lines := strings.Split(text, "\x00")
		if lines[0] != "worktree "+path {
			continue
		}
		for _, line := range lines[1:] {
			if name, ok := strings.CutPrefix(line, "branch refs/heads/"); ok {
				branch = name
			}
		}
		return branch, true, nil
	}
	return "", false, nil
}

// ofAnotherRepository are names that git sets for its hooks. They would lead to the repository of the hook.
var ofAnotherRepository = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"}

// git runs git as the user who called, and returns its output.
func git(dir string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ofAnotherRepository, name)
	})
	err := host.RunChild(cmd)
	if err == nil {
		return out.String(), nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", &api.Failure{Code: api.ExitNotFound, Message: "--worktree needs git, which is not installed", Next: "apt-get install git", Err: err}
	}
	return "", &api.Failure{Message: fmt.Sprintf("git %s: %s", strings.Join(args[:min(2, len(args))], " "), complaintOf(errs.String(), err)), Next: "run it by hand: git -C " + human.Typed(dir) + usage.TypedAll(args), Err: err}
}

// complaintOf is the line in which git says what is wrong.
func complaintOf(text string, err error) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if _, why, ok := strings.Cut(line, "fatal: "); ok {
			return why
		}
	}
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}
