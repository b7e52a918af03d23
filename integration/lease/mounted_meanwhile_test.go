package lease

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// slowLink is a symbolic link. Who follows it first waits until a gate has opened.
type slowLink struct {
	fs.Inode
	target, gate string
	first        sync.Once
}

func (l *slowLink) Readlink(context.Context) (target []byte, errno syscall.Errno) {
	l.first.Do(func() {
		_, err := os.ReadFile(l.gate)
		errno = fs.ToErrno(err)
	})
	return []byte(l.target), errno
}

func init() { operation.Add("slow link", opSlowLink) }

// opSlowLink serves at To, until that is unmounted, a directory with the link "link" to Path; Name is its gate.
func opSlowLink(_ *operation.Box, c operation.Command) error {
	root := &fs.Inode{}
	add := func(ctx context.Context) {
		l := root.NewPersistentInode(ctx, &slowLink{target: c.Path, gate: c.Name}, fs.StableAttr{Mode: unix.S_IFLNK})
		root.AddChild("link", l, false)
	}
	_, err := fs.Mount(c.To, root, &fs.Options{OnAdd: add, MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "slow", Name: "slow"}})
	return err
}

// appearing is a worktree that is there through its mount alone.
type appearing struct {
	*harness.Mount
	worktree string
}

func newAppearing(t *testing.T, repository bool) *appearing {
	t.Helper()
	a := &appearing{Mount: harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Repository: repository, Prepare: harness.WithDir("in")})}
	a.worktree = a.At("in")
	if repository {
		a.worktree = a.At("main")
	}
	before := recordsOfTheMachine(t)
	t.Cleanup(func() {
		require.Equal(t, before, recordsOfTheMachine(t), "a worktree was taken for a plain directory of this machine")
	})
	return a
}

// slowly is a way to the worktree. A command that goes it waits at the gate "look", after it has read the mount table.
func (a *appearing) slowly() (path string, l harness.Mail) {
	a.T.Helper()
	l, dir := harness.NewMail(a.Mount), filepath.Join(a.Base, "slow")
	require.NoError(a.T, os.Mkdir(dir, 0o755))
	gate := l.Gate("look")
	harness.StartActor(a.T, "server").OK(harness.Command{Op: "slow link", Path: a.worktree, To: dir, Name: gate})
	a.T.Cleanup(func() { require.NoError(a.T, unix.Unmount(dir, unix.MNT_DETACH)) })
	return filepath.Join(dir, "link"), l
}

// recordsOfTheMachine are the directories with those of plain directories.
func recordsOfTheMachine(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob("/var/lib/jvsfs/locks/*/")
	require.NoError(t, err)
	return dirs
}

// A worktree that is mounted while a command follows the links of its path is that of the mount, whatever the command.
func TestACommandUsesTheMountThatAppearsWhileItFollowsItsPath(t *testing.T) {
	for name, c := range map[string]struct {
		line string // of shell
		exit int
		says string
	}{
		"exec":         {"exec PATH -- sh -c 'echo token $JVSFS_TOKEN'", 0, "token 2\n"},
		"lock acquire": {"lock acquire --json --pid PID PATH", 0, `"fencing_token": 2,`},
		"lock status":  {"lock status --json PATH", 0, `"fencing_token": 1,`},
		"explain":      {"explain --json --pid PID PATH", harness.ExitNotHeld, `"mounted": true,`},
	} {
		for shape, repository := range map[string]bool{"directory": false, "repository": true} {
			t.Run(name+", "+shape, func(t *testing.T) {
				a := newAppearing(t, repository)
				a.Mount.Mount()
				a.MustCLI("exec", a.worktree, "--", "true")
				a.Unmount()
				path, l := a.slowly()
				who := harness.StartActor(t, "who")
				line := strings.NewReplacer("PATH", path, "PID", harness.PIDOf(who)).Replace(c.line)
				looks := a.Start("sh", "-c", a.Bin+" "+line)
				open := l.Arrived("look")
				a.Mount.Mount()
				open()
				exit, said := looks.Wait()
				require.Equal(t, c.exit, exit, said)
				require.Contains(t, said, c.says)
			})
		}
	}
}

// No command takes a worktree for a plain directory while it is mounted and unmounted again and again: that would have a lease with a
// token of its own, which the mount has given to another or will give.
func TestNoCommandTakesAMountedWorktreeForAPlainDirectory(t *testing.T) {
	a := newAppearing(t, false)
	a.Opts.Policy = harness.Hasty
	ctx, stop := context.WithCancel(t.Context())
	var looks sync.WaitGroup
	defer looks.Wait()
	defer stop()
	said := make([][]string, 3)
	var leases atomic.Int64
	for i := range said {
		looks.Go(func() {
			for ctx.Err() == nil {
				out, err := exec.Command(a.Bin, "exec", "--wait", "1s", a.worktree, "--", "sh", "-c", "echo $JVSFS_TOKEN").Output()
				if err == nil {
					said[i] = append(said[i], strings.TrimSpace(string(out)))
					leases.Add(1)
				}
			}
		})
	}
	for round := range 25 {
		before := leases.Load()
		a.Mount.Mount()
		if round%5 == 0 { // a busy machine may have mounted and unmounted before anybody has looked
			harness.Eventually(t, "somebody has the lease", func() bool { return leases.Load() > before })
		}
		a.Unmount()
	}
	stop()
	looks.Wait()
	tokens := slices.Concat(said...)
	slices.Sort(tokens)
	t.Logf("%d leases", len(tokens))
	require.NotEmpty(t, tokens)
	require.Equal(t, slices.Compact(slices.Clone(tokens)), tokens, "two had the same token")
}
