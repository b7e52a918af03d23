package tools

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// prepareRich is a tree "from" with what a good copier carries over, beside an
// empty "to".
func prepareRich(t testing.TB, dir string) {
	t.Helper()
	from := filepath.Join(dir, "from")
	writeFiles(t, from, map[string]string{"plain": "plain", "deep/down/here": "here", "linked": "twice", "private": "x"})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "to"), 0o755))
	require.NoError(t, os.Link(filepath.Join(from, "linked"), filepath.Join(from, "deep", "again")))
	require.NoError(t, os.Symlink("../plain", filepath.Join(from, "deep", "symlink")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(from, "dangling")))
	require.NoError(t, unix.Mkfifo(filepath.Join(from, "fifo"), 0o640))
	require.NoError(t, unix.Mknod(filepath.Join(from, "device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
	require.NoError(t, unix.Setxattr(filepath.Join(from, "plain"), "user.note", []byte("remember"), 0))
	require.NoError(t, unix.Setxattr(filepath.Join(from, "deep"), "user.note", []byte("a directory"), 0))
	acl := harness.UserACL(1234)
	require.NoError(t, unix.Setxattr(filepath.Join(from, "private"), "system.posix_acl_access", acl, 0))
	require.NoError(t, unix.Setxattr(filepath.Join(from, "deep"), "system.posix_acl_default", acl, 0))
	require.NoError(t, os.Chown(filepath.Join(from, "private"), 1000, 1001))
	require.NoError(t, unix.Truncate(filepath.Join(from, "plain"), 1<<20)) // sparse
	setOldTimes(t, from)
}

// setOldTimes gives every name below root a time of its own, long ago and with
// nanoseconds: a copy that keeps times shows, and one that does not does, too.
func setOldTimes(t testing.TB, root string) {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	for i, name := range names {
		at := unix.Timespec{Sec: 11e8 + int64(i), Nsec: 123456789}
		require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW))
	}
}

// leaveNewTimes leaves the times of what the tools made without a time to
// keep: directories beside the copy, an archive.
func leaveNewTimes(e *harness.Entry) {
	if e.Mtime > 12e17 {
		e.Mtime = 0
	}
}

// requireCopied demands that a copy is like its original on the backing side.
func requireCopied(t testing.TB, original, copied string) {
	t.Helper()
	want, got := harness.TakeDigest(t, original), harness.TakeDigest(t, copied)
	require.Contains(t, got, "deep/again")
	require.Equal(t, int64(2), got["linked"].Nlink, "hard links stay hard links")
	require.NotEmpty(t, got["private"].Xattrs, "the ACL has come along")
	require.Empty(t, want.Diff(got, harness.LeaveChangeTimes, harness.LeaveDirSizes))
}

func TestToolRsyncCopiesAsNatively(t *testing.T) {
	b := newBench(t, prepareRich)
	b.same(
		[]string{"rsync", "-aHAX", "--devices", "--specials", "from/", "to/"},
		[]string{"rm", "to/plain"},
		[]string{"rsync", "-aHAX", "--checksum", "from/", "to/"},
	)
	b.sameTrees(nil, harness.LeaveChangeTimes, leaveNewTimes)
	requireCopied(t, b.m.Behind("from"), b.m.Behind("to"))
	// Out of the mount and into it.
	b.stranger.OK("rsync", "-aHAX", "from/", b.m.Base+"/out/")
	requireCopied(t, b.m.Behind("from"), filepath.Join(b.m.Base, "out"))
	b.holder.OK("rsync", "-aHAX", b.m.Base+"/out/", "in/")
	requireCopied(t, b.m.Behind("from"), b.m.Behind("in"))
}

func TestToolTarCopiesAsNatively(t *testing.T) {
	b := newBench(t, prepareRich)
	out := filepath.Join(b.m.Base, "out.tar")
	pack := []string{"tar", "--xattrs", "--acls", "--xattrs-include=*", "--numeric-owner", "-S", "-C", "from"}
	unpack := []string{"tar", "--xattrs", "--acls", "--xattrs-include=*", "--numeric-owner", "-p", "-C", "to", "-x"}
	b.same(
		append(append([]string{}, pack...), "-cf", "{}/a.tar", "."),
		append(append([]string{}, unpack...), "-f", "{}/a.tar"),
	)
	// The archive holds times that are of each tree's own making.
	b.sameTrees([]string{"a.tar"}, harness.LeaveChangeTimes, leaveNewTimes)
	requireCopied(t, b.m.Behind("from"), b.m.Behind("to"))
	b.stranger.OK(append(append([]string{}, pack...), "-cf", out, ".")...)
	b.native.OK("tar", "-tf", out, "./deep/again")
}

func TestToolCpCopiesAsNatively(t *testing.T) {
	b := newBench(t, prepareRich)
	b.same([]string{"cp", "-a", "from/.", "to"}, []string{"cp", "-a", "--sparse=always", "from/plain", "holes"})
	b.sameTrees(nil, harness.LeaveChangeTimes, leaveNewTimes)
	requireCopied(t, b.m.Behind("from"), b.m.Behind("to"))
	b.stranger.OK("cp", "-a", "from", b.m.Base+"/out")
	requireCopied(t, b.m.Behind("from"), filepath.Join(b.m.Base, "out"))
}

func TestToolCopiersAreRefusedWhileAnotherHolds(t *testing.T) {
	b := newBench(t, prepareRich)
	archive := filepath.Join(b.m.Base, "a.tar")
	b.stranger.OK("tar", "-cf", archive, "from")
	b.whileHeld(func(s harness.Workshop) {
		const errno = "Read-only file system"
		s.Fails(11, errno, "rsync", "-a", "from/", "new/")
		s.Fails(23, errno, "rsync", "-a", "from/", "to/")
		s.Fails(23, errno, "rsync", "-a", "--inplace", "--delete", "/usr/share/vim/", "from/")
		s.Fails(2, errno, "tar", "-xf", archive, "-C", "to")
		s.Fails(2, errno, "tar", "-cf", "new.tar", "from")
		s.Fails(1, errno, "cp", "-a", "from/.", "to")
		s.Fails(1, errno, "cp", "-a", "from", "new")
		s.Fails(1, errno, "mv", "from", "new")
		s.Fails(1, errno, "rm", "-rf", "from")
		s.Fails(4, errno, "sed", "-i", "s/x/y/", "from/plain")
	})
}
