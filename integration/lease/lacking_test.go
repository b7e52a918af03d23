package lease

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// lackingNode passes everything through but what its file system does not have: hard links
// (as on vfat) or locks (as on NFS without its lock manager).
type lackingNode struct {
	*fs.LoopbackNode
	lacks string
}

func (n *lackingNode) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &lackingNode{ops.(*fs.LoopbackNode), n.lacks}
}

func (n *lackingNode) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if n.lacks == "links" {
		return nil, unix.EPERM
	}
	return n.LoopbackNode.Link(ctx, target, name, out)
}

func (n *lackingNode) Setlk(ctx context.Context, f fs.FileHandle, owner uint64, lk *fuse.FileLock, flags uint32) syscall.Errno {
	if n.lacks == "locks" {
		return unix.ENOLCK
	}
	return f.(fs.FileSetlker).Setlk(ctx, owner, lk, flags)
}

func (n *lackingNode) Setlkw(ctx context.Context, f fs.FileHandle, owner uint64, lk *fuse.FileLock, flags uint32) syscall.Errno {
	return n.Setlk(ctx, f, owner, lk, flags) // nobody here waits for one
}

func init() { operation.Add("serve", opServeLacking) }

// opServeLacking serves the directory Path at To, until that is unmounted: Name is what the
// file system lacks. By an actor, for a process that uses its own FUSE mount waits for itself.
func opServeLacking(_ *operation.Box, c operation.Command) error {
	root, err := fs.NewLoopbackRoot(c.Path)
	if err != nil {
		return err
	}
	_, err = fs.Mount(c.To, &lackingNode{root.(*fs.LoopbackNode), c.Name}, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, EnableLocks: true, FsName: "lacking", Name: "lacking"},
	})
	return err
}

// newLacking is a directory on a file system that lacks something.
func newLacking(t *testing.T, what string) string {
	t.Helper()
	base := harness.NewBase(t)
	store, at := filepath.Join(base, "store"), filepath.Join(base, "at")
	for _, dir := range []string{store, at} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	harness.StartActor(t, "server").OK(harness.Command{Op: "serve", Path: store, To: at, Name: what})
	t.Cleanup(func() { require.NoError(t, unix.Unmount(at, unix.MNT_DETACH)) })
	return at
}

// A lock directory on a file system without hard links, or without locks. Permissions are not the problem
// there. Every command that needs a lease names the directory and what is missing, nothing is mounted, and the
// advice works.
func TestNothingIsMountedWithALockDirectoryWithoutLinksOrLocks(t *testing.T) {
	for lacks, c := range map[string]struct{ id, thing string }{
		"links": {"locks.link", "hard links"},
		"locks": {"locks.flock", "locks (flock)"},
	} {
		t.Run(lacks, func(t *testing.T) {
			const out = "keep the lease records on another file system (--control DIR)"
			m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
			elsewhere := m.LockDir
			m.LockDir = filepath.Join(newLacking(t, lacks), "control")
			for _, args := range [][]string{
				{"mount", m.Source, m.Mountpoint, "--control", m.LockDir, "--log-file", m.LogFile()},
				{"lock", "acquire", "--control", m.LockDir, "--pid", strconv.Itoa(os.Getpid()), m.Source},
			} {
				_, errs, exit := m.CLI(args...)
				require.Equal(t, harness.ExitStore, exit, "%v: %s", args, errs)
				require.Contains(t, errs, "E_STORE_FAILED: the file system of the lock directory has no "+c.thing+": ")
				require.Contains(t, errs, "(file "+m.LockDir+")\n")
				require.Regexp(t, "next: .*"+regexp.QuoteMeta(out), errs)
			}
			require.Empty(t, harness.TopType(t, m.Mountpoint))

			all, ok, exit := m.Doctor("--control", m.LockDir, m.Source)
			require.False(t, ok)
			require.Equal(t, 1, exit)
			found := all.Of(c.id, m.LockDir+": its file system has no "+c.thing)
			require.Len(t, found, 1, "%+v", all)
			require.Equal(t, []string{"fail", out}, []string{found[0].Severity, found[0].Fix})
			left, err := filepath.Glob(filepath.Join(m.LockDir, ".doctor-*"))
			require.NoError(t, err)
			require.Empty(t, left)

			m.LockDir = elsewhere
			m.Mount()
			a := harness.StartActor(t, "a")
			m.Acquire(a)
			a.OK(m.Put("f"))
		})
	}
}
