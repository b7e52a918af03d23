package run

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/exec"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
)

// runCommand is mount, exec and umount in one.
type runCommand struct {
	exec     exec.Command
	worktree string
	diff     bool

	mount *runMount
	made  string   // what was made for the run, for people
	look  *runDiff // from before, nil for none
}

// New is jvsfs run.
func New(io console.Streams) *cobra.Command {
	r := &runCommand{exec: exec.Command{IO: io}}
	cmd := &cobra.Command{
		Use:   "run [DIR] -- CMD [ARG...]",
		Short: "Mount DIR if need be, hold its lease while CMD runs, and unmount",
		Long: `Mount DIR if need be, hold its lease while CMD runs in DIR, and unmount.

DIR is the current directory by default. If it is below no jvsfs mount, run mounts, in
place, the repository that DIR lies in (of JVS or git), or DIR itself. Then it does what
jvsfs exec does: CMD and all that it starts are the only ones who write there, what CMD
leaves running is ended, signals are passed on, and the exit code is that of CMD.

With --worktree NEW, CMD runs in a git worktree of its own: .worktrees/NEW of the
repository, with the branch NEW. run makes what is missing of the two, from the commit
that DIR has checked out, and uses again what is there.

The mount goes when the last of its runs ends, unless it was there before. It also goes,
a moment later, if the runs were killed. It stays while somebody else uses it: then run
names who keeps it busy, and the daemon unmounts when they have left.

With --diff, run tells at the end what CMD changed: it compares names, types, sizes,
times, modes and inodes of all files before and after. Repositories (.git, .jvs) and the
worktrees of others do not count.

Where no mount may be made, run says why: see jvsfs mount.`,
		Args: runArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := usage.CheckWait(r.exec.Wait, 0); err != nil {
				return err
			}
			dir := "."
			if cmd.ArgsLenAtDash() == 1 {
				dir, args = args[0], args[1:]
			}
			return r.run(cmd.Context(), dir, args)
		},
	}
	cmd.Flags().StringVar(&r.exec.Purpose, "name", "", "`NAME` of the run: what the lease is for, shown to others (default: CMD)")
	cmd.Flags().StringVar(&r.worktree, "worktree", "", "run CMD in the git worktree and branch `NEW`, and make them if need be")
	cmd.Flags().BoolVar(&r.diff, "diff", false, "tell at the end what CMD changed")
	cmd.Flags().DurationVar(&r.exec.Wait, "wait", 0, "wait this `LONG` for the lease to become free")
	cmd.Flags().BoolVar(&r.exec.Linger, "linger", false, "hold the lease until everything that CMD left running has ended, too")
	return cmd
}

// runArgs wants the command behind a "--", as exec does.
func runArgs(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	f := &api.Failure{Class: api.ClassUsage, Next: usage.Line(cmd)}
	switch {
	case len(args) == 0:
		f.Message, f.Next = "jvsfs run: the command is missing", "jvsfs run -- CMD"
	case dash < 0 && len(args) == 1 && isDirectory(args[0]), dash == 1 && len(args) == 1:
		f.Message, f.Next = "jvsfs run: the command is missing", "jvsfs run "+human.Typed(args[0])+" -- CMD"
	case dash < 0:
		f.Message, f.Next = "jvsfs run: -- is missing before the command", "jvsfs run --"+usage.TypedAll(args)
		if isDirectory(args[0]) {
			f.Next = "jvsfs run " + human.Typed(args[0]) + " --" + usage.TypedAll(args[1:])
		}
	case dash > 1:
		f.Message = fmt.Sprintf("jvsfs run: %s is one argument too many before --", human.Typed(args[1]))
	default:
		return nil
	}
	return f
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (r *runCommand) run(ctx context.Context, dir string, argv []string) error {
	if r.worktree != "" {
		if err := checkBranch(r.worktree); err != nil {
			return err
		}
	}
	m, err := enterMount(ctx, r.exec.IO, dir)
	if err != nil {
		return err
	}
	r.mount = m
	defer m.leave(ctx)
	if err := r.mustHaveRepository(); err != nil {
		return err
	}
	if err := m.setUp(ctx, r.prepare); err != nil {
		return err
	}
	r.exec.Dir = m.dir
	r.exec.Began, r.exec.Over = r.begin, r.end
	defer func() { r.look.close() }()
	return r.exec.Run(ctx, m.dir, argv)
}

// mustHaveRepository refuses --worktree without one before anything is mounted for it.
func (r *runCommand) mustHaveRepository() error {
	if _, err := lookup.JVSFSAt(r.mount.point); r.worktree == "" || err == nil {
		return nil
	}
	if _, ok := place.RepositoryOver(r.mount.dir); !ok {
		return noRepository(r.mount.dir)
	}
	return nil
}

// prepare makes the worktree.
func (r *runCommand) prepare() (err error) {
	if r.worktree == "" {
		return nil
	}
	r.mount.dir, r.made, err = makeWorktree(r.mount.dir, r.worktree)
	return err
}

// begin is called when the lease is held and CMD has not begun.
func (r *runCommand) begin(l exec.HeldLease) {
	r.guarded(l)
	if !r.diff {
		return
	}
	var err error
	if r.look, err = newRunDiff(r.exec.IO, l); err != nil {
		console.Note(r.exec.IO)("what the command changes cannot be told: " + err.Error())
	}
}

// End is called when CMD has ended with all that it left.
func (r *runCommand) end(lost bool) {
	if r.look != nil {
		r.look.tell(lost)
	}
}

// guarded says in one line what only CMD writes to from now on.
func (r *runCommand) guarded(l exec.HeldLease) {
	var more []string
	if r.made != "" {
		more = append(more, r.made)
	}
	switch {
	case l.Mount == "": // exec has said that nothing fences it
		return
	case r.mount.made:
		more = append(more, "mounted "+l.Mount)
	default:
		more = append(more, "mount "+l.Mount)
	}
	whose := "only this command and what it starts write there"
	if l.Joined {
		whose = "under the lease that is held already"
	}
	if r.mount.observes(l.Mount) {
		whose = "the mount only observes, and refuses no write"
	}
	console.Note(r.exec.IO)(fmt.Sprintf("guarded: %s: %s (%s, token %d)", l.Worktree, whose, strings.Join(more, ", "), l.Token))
}
