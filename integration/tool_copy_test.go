package integration

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
	acl := userACL(1234)
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
func leaveNewTimes(e *entry) {
	if e.mtime > 12e17 {
		e.mtime = 0
	}
}

// requireCopied demands that a copy is like its original on the backing side.
func requireCopied(t testing.TB, original, copied string) {
	t.Helper()
	want, got := takeDigest(t, original), takeDigest(t, copied)
	require.Contains(t, got, "deep/again")
	require.Equal(t, int64(2), got["linked"].nlink, "hard links stay hard links")
	require.NotEmpty(t, got["private"].xattrs, "the ACL has come along")
	require.Empty(t, want.diff(got, leaveChangeTimes, leaveDirSizes))
}

func TestToolRsync(t *testing.T) {
	b := newBench(t, prepareRich)
	b.same(
		[]string{"rsync", "-aHAX", "--devices", "--specials", "from/", "to/"},
		[]string{"rm", "to/plain"},
		[]string{"rsync", "-aHAX", "--checksum", "from/", "to/"},
	)
	b.sameTrees(nil, leaveChangeTimes, leaveNewTimes)
	requireCopied(t, b.m.Behind("from"), b.m.Behind("to"))
	// Out of the mount and into it.
	b.stranger.ok("rsync", "-aHAX", "from/", b.m.base+"/out/")
	requireCopied(t, b.m.Behind("from"), filepath.Join(b.m.base, "out"))
	b.holder.ok("rsync", "-aHAX", b.m.base+"/out/", "in/")
	requireCopied(t, b.m.Behind("from"), b.m.Behind("in"))
}

func TestToolTar(t *testing.T) {
	b := newBench(t, prepareRich)
	out := filepath.Join(b.m.base, "out.tar")
	pack := []string{"tar", "--xattrs", "--acls", "--xattrs-include=*", "--numeric-owner", "-S", "-C", "from"}
	unpack := []string{"tar", "--xattrs", "--acls", "--xattrs-include=*", "--numeric-owner", "-p", "-C", "to", "-x"}
	b.same(
		append(append([]string{}, pack...), "-cf", "{}/a.tar", "."),
		append(append([]string{}, unpack...), "-f", "{}/a.tar"),
	)
	// The archive holds times that are of each tree's own making.
	b.sameTrees([]string{"a.tar"}, leaveChangeTimes, leaveNewTimes)
	requireCopied(t, b.m.Behind("from"), b.m.Behind("to"))
	b.stranger.ok(append(append([]string{}, pack...), "-cf", out, ".")...)
	b.native.ok("tar", "-tf", out, "./deep/again")
}

func TestToolCp(t *testing.T) {
	b := newBench(t, prepareRich)
	b.same([]string{"cp", "-a", "from/.", "to"}, []string{"cp", "-a", "--sparse=always", "from/plain", "holes"})
	b.sameTrees(nil, leaveChangeTimes, leaveNewTimes)
	requireCopied(t, b.m.Behind("from"), b.m.Behind("to"))
	b.stranger.ok("cp", "-a", "from", b.m.base+"/out")
	requireCopied(t, b.m.Behind("from"), filepath.Join(b.m.base, "out"))
}

func TestToolCopiersRefused(t *testing.T) {
	b := newBench(t, prepareRich)
	archive := filepath.Join(b.m.base, "a.tar")
	b.stranger.ok("tar", "-cf", archive, "from")
	b.whileHeld(func(s workshop) {
		const errno = "Read-only file system"
		s.fails(11, errno, "rsync", "-a", "from/", "new/")
		s.fails(23, errno, "rsync", "-a", "from/", "to/")
		s.fails(23, errno, "rsync", "-a", "--inplace", "--delete", "/usr/share/vim/", "from/")
		s.fails(2, errno, "tar", "-xf", archive, "-C", "to")
		s.fails(2, errno, "tar", "-cf", "new.tar", "from")
		s.fails(1, errno, "cp", "-a", "from/.", "to")
		s.fails(1, errno, "cp", "-a", "from", "new")
		s.fails(1, errno, "mv", "from", "new")
		s.fails(1, errno, "rm", "-rf", "from")
		s.fails(4, errno, "sed", "-i", "s/x/y/", "from/plain")
	})
}
