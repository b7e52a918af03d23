package run

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/changes"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/exec"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// runDiff tells what CMD changed in its worktree (run --diff): it looks at the files below the mount before and
// after.
type runDiff struct {
	io   console.Streams
	dir  string
	root *os.File
	tree *changes.Tree
	head string // the commit of a git worktree, "" for none
}

// newRunDiff looks at the worktree. It is to be closed.
func newRunDiff(io console.Streams, l exec.HeldLease) (*runDiff, error) {
	d := &runDiff{io: io, dir: l.Worktree, head: headOf(l.Worktree)}
	var err error
	if d.root, err = openBacking(l); err != nil {
		return nil, err
	}
	if d.tree, err = changes.Take(int(d.root.Fd()), d.progress("before")); err != nil {
		host.CloseFile(d.root)
		return nil, err
	}
	return d, nil
}

// openBacking opens the directory of a worktree below the mount: to look there is faster than through it, and
// disturbs no cache. Where that takes a right that the caller has not, it is opened through the mount.
func openBacking(l exec.HeldLease) (f *os.File, err error) {
	on, err := lookup.JVSFSAt(l.Mount)
	if err != nil || !inPlace(on) || os.Geteuid() != 0 {
		return changes.OpenRoot(l.Worktree)
	}
	err = host.Underneath(on.Mountpoint, func() (err error) {
		f, err = changes.OpenRoot(l.Worktree)
		return err
	})
	if err != nil {
		return changes.OpenRoot(l.Worktree)
	}
	return f, nil
}

func inPlace(m *mountinfo.Info) bool { return m.Source == m.Mountpoint && m.Root == "/" }

// progressEvery is how often a long look tells how far it is.
const progressEvery = 10 * time.Second

func (d *runDiff) progress(when string) func(int) {
	last := time.Now()
	return func(n int) {
		if time.Since(last) > progressEvery {
			last = time.Now()
			console.Note(d.io)(fmt.Sprintf("looking at the files %s the command: %d names so far", when, n))
		}
	}
}

// close frees what the look from before has left.
func (d *runDiff) close() {
	if d != nil {
		_ = d.tree.Close() // it has no name, and nobody reads it any more
		host.CloseFile(d.root)
	}
}

// Tell prints what is different now.
func (d *runDiff) tell(lost bool) {
	r, err := d.tree.Since(d.progress("after"))
	if err != nil {
		console.Note(d.io)(fmt.Sprintf("what the command changed in %s cannot be told: %v", d.dir, err))
		return
	}
	commits := commitsSince(d.dir, d.head)
	if lost {
		console.Note(d.io)("the lease was lost: others may have changed some of this, too")
	}
	printChanges(d.io.Err, d.dir, r, commits)
}

// shownChanges bounds the names that people are shown.
const shownChanges = 100

func printChanges(w io.Writer, dir string, r changes.Report, commits string) {
	counts := countText(r)
	if commits != "" {
		counts += "; " + commits
	}
	fmt.Fprintf(w, "jvsfs: changed in %s: %s\n", human.Printable(dir), counts)
	for _, c := range r.Changes[:min(len(r.Changes), shownChanges)] {
		fmt.Fprintf(w, "  %c %s\n", c.Kind, changeText(c))
	}
	if more := max(len(r.Changes)-shownChanges, 0) + r.Left; more > 0 {
		fmt.Fprintf(w, "  ... and %d more\n", more)
	}
}

func changeText(c changes.Change) string {
	text := human.Printable(c.Path)
	if c.Dir {
		text += "/"
	}
	if c.From != "" {
		text = human.Printable(c.From) + " -> " + text
	}
	if c.Within > 0 {
		text += fmt.Sprintf(" (%d within)", c.Within)
	}
	return text
}

func countText(r changes.Report) string {
	var parts []string
	for _, k := range []struct {
		kind changes.Kind
		word string
	}{{changes.Added, "added"}, {changes.Changed, "changed"}, {changes.Removed, "removed"}, {changes.Renamed, "renamed"}} {
		if n := r.Counts[k.kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k.word))
		}
	}
	if len(parts) == 0 {
		return "no file"
	}
	return strings.Join(parts, ", ")
}

// headOf is the commit that a git worktree has checked out, "" if it is none or has none. git prints it, or
// nothing.
func headOf(dir string) string {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		return ""
	}
	out, err := git(dir, "rev-parse", "-q", "--verify", "HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// commitsSince says how many commits HEAD has that it had not before.
func commitsSince(dir, before string) string {
	now := headOf(dir)
	if now == "" || now == before {
		return ""
	}
	span := now
	if before != "" {
		span = before + ".." + now
	}
	out, err := git(dir, "rev-list", "--count", span)
	if err != nil {
		return ""
	}
	n, commits := strings.TrimSpace(out), "new commits"
	switch n {
	case "", "0":
		return fmt.Sprintf("HEAD is %.10s", now)
	case "1":
		commits = "new commit"
	}
	return fmt.Sprintf("%s %s, HEAD is %.10s", n, commits, now)
}
