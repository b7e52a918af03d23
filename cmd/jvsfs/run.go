package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
)

// runCommand is mount, exec and umount in one.
type runCommand struct {
	exec     execCommand
	worktree string
	diff     bool

	mount *runMount
	made  string   // what was made for the run, for people
	look  *runDiff // from before, nil for none
}

func newRunCommand(io stdio) *cobra.Command {
	r := &runCommand{exec: execCommand{io: io}}
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
			if err := checkWait(r.exec.wait, 0); err != nil {
				return err
			}
			dir := "."
			if cmd.ArgsLenAtDash() == 1 {
				dir, args = args[0], args[1:]
			}
			return r.run(cmd.Context(), dir, args)
		},
	}
	cmd.Flags().StringVar(&r.exec.purpose, "name", "", "`NAME` of the run: what the lease is for, shown to others (default: CMD)")
	cmd.Flags().StringVar(&r.worktree, "worktree", "", "run CMD in the git worktree and branch `NEW`, and make them if need be")
	cmd.Flags().BoolVar(&r.diff, "diff", false, "tell at the end what CMD changed")
	cmd.Flags().DurationVar(&r.exec.wait, "wait", 0, "wait this `LONG` for the lease to become free")
	cmd.Flags().BoolVar(&r.exec.linger, "linger", false, "hold the lease until everything that CMD left running has ended, too")
	return cmd
}

// runArgs wants the command behind a "--", as exec does.
func runArgs(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	f := &api.Failure{Class: api.ClassUsage, Next: usageLine(cmd)}
	switch {
	case len(args) == 0:
		f.Message, f.Next = "jvsfs run: the command is missing", "jvsfs run -- CMD"
	case dash < 0 && len(args) == 1 && isDirectory(args[0]), dash == 1 && len(args) == 1:
		f.Message, f.Next = "jvsfs run: the command is missing", "jvsfs run "+human.Typed(args[0])+" -- CMD"
	case dash < 0:
		f.Message, f.Next = "jvsfs run: -- is missing before the command", "jvsfs run --"+typedAll(args)
		if isDirectory(args[0]) {
			f.Next = "jvsfs run " + human.Typed(args[0]) + " --" + typedAll(args[1:])
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
	m, err := enterMount(ctx, r.exec.io, dir)
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
	r.exec.dir = m.dir
	r.exec.began, r.exec.over = r.begin, r.end
	defer func() { r.look.close() }()
	return r.exec.run(ctx, m.dir, argv)
}

// mustHaveRepository refuses --worktree without one before anything is mounted for it.
func (r *runCommand) mustHaveRepository() error {
	if _, err := jvsfsAt(r.mount.point); r.worktree == "" || err == nil {
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
func (r *runCommand) begin(l heldLease) {
	r.guarded(l)
	if !r.diff {
		return
	}
	var err error
	if r.look, err = newRunDiff(r.exec.io, l); err != nil {
		noteTo(r.exec.io)("what the command changes cannot be told: " + err.Error())
	}
}

// end is called when CMD has ended with all that it left.
func (r *runCommand) end(lost bool) {
	if r.look != nil {
		r.look.tell(lost)
	}
}

// guarded says in one line what only CMD writes to from now on.
func (r *runCommand) guarded(l heldLease) {
	var more []string
	if r.made != "" {
		more = append(more, r.made)
	}
	switch {
	case l.mount == "": // exec has said that nothing fences it
		return
	case r.mount.made:
		more = append(more, "mounted "+l.mount)
	default:
		more = append(more, "mount "+l.mount)
	}
	whose := "only this command and what it starts write there"
	if l.joined {
		whose = "under the lease that is held already"
	}
	if r.mount.observes(l.mount) {
		whose = "the mount only observes, and refuses no write"
	}
	noteTo(r.exec.io)(fmt.Sprintf("guarded: %s: %s (%s, token %d)", l.worktree, whose, strings.Join(more, ", "), l.token))
}
