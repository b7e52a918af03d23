package fidelity

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestInodesStayOverRemounts: whoever remembers a file by its inode number, as
// backups, git and find do, finds the same numbers, links, times and births after
// the mount was taken down and made again.
func TestInodesStayOverRemounts(t *testing.T) {
	m := heldByThisProcess(t)
	fill := exec.Command("sh", "-c", `mkdir -p d/e/f && echo text > d/a && ln d/a d/e/b && ln d/a c && ln -s a d/l && mkfifo d/p && truncate -s 5G huge &&
		setfattr -n user.k -v v d/a && setfacl -m u:1001:rw c && chmod 2755 d/e && touch -d '2001-02-03 04:05:06.789012345' d/e/b && mknod d/n c 1 3`)
	fill.Dir = m.Mountpoint
	out, err := fill.CombinedOutput()
	require.NoError(t, err, "%s", out)
	before := statTree(t, m.Mountpoint)
	require.Equal(t, before["d/a"].Ino, before["c"].Ino, "one inode with three names")
	require.EqualValues(t, 3, before["c"].Nlink)
	for range 2 {
		m.MustCLI("lock", "release", m.Mountpoint)
		m.Unmount()
		m.Mount()
		require.Equal(t, before, statTree(t, m.Mountpoint))
		require.Equal(t, before["d/e"].Ino, statTree(t, m.View)["d/e"].Ino, "the backing directory's own number")
		m.MustCLI("lock", "acquire", m.Mountpoint, "--pid", strconv.Itoa(os.Getpid()))
	}
	require.NoError(t, os.Remove(m.At("c")))
	require.EqualValues(t, 2, statTree(t, m.Mountpoint)["d/a"].Nlink)
}

// statTree is what statx says of everything below a directory, but for the numbers
// of mount and device, which are the mount's own.
func statTree(t *testing.T, root string) map[string]unix.Statx_t {
	t.Helper()
	all := make(map[string]unix.Statx_t)
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		var st unix.Statx_t
		require.NoError(t, unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st))
		st.Dev_major, st.Dev_minor, st.Mnt_id, st.Attributes, st.Attributes_mask, st.Mask = 0, 0, 0, 0, 0, 0
		if rel != "." {
			all[rel] = st
		}
		return nil
	}))
	return all
}
