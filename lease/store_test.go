package lease

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

func TestAWorktreeIDIsOneNameOfSafeCharacters(t *testing.T) {
	for _, ok := range []string{"main", "a.b-c_D9", "...", ".x", strings.Repeat("x", 128)} {
		id, err := record.ParseWorktreeID(ok)
		require.NoError(t, err)
		require.EqualValues(t, ok, id)
	}
	for _, bad := range []string{"", ".", "..", "a/b", "../x", "a b", "é", "a\x00", "a\n", strings.Repeat("x", 129)} {
		_, err := record.ParseWorktreeID(bad)
		requireClass(t, ClassBadWorktreeID, err)
	}
	d := testDir(t)
	_, err := d.Store("../x").Head()
	requireClass(t, ClassBadWorktreeID, err)
}

func TestHostileClaimsAreUnreadableAndStay(t *testing.T) {
	const name = "main.claim.00000000000000000007"
	for what, plant := range map[string]func(*testing.T, *Dir) error{
		"symlink":  func(_ *testing.T, d *Dir) error { return unix.Symlinkat("/etc/passwd", d.fd, name) },
		"fifo":     func(_ *testing.T, d *Dir) error { return unix.Mknodat(d.fd, name, unix.S_IFIFO|0o600, 0) },
		"dir":      func(_ *testing.T, d *Dir) error { return unix.Mkdirat(d.fd, name, 0o700) },
		"empty":    func(t *testing.T, d *Dir) error { d.put(t, name, ""); return nil },
		"huge":     func(t *testing.T, d *Dir) error { d.put(t, name, strings.Repeat(" ", maxRead+1)); return nil },
		"torn":     func(t *testing.T, d *Dir) error { d.put(t, name, `{"lock_id":`); return nil },
		"dangling": func(_ *testing.T, d *Dir) error { return unix.Symlinkat("nowhere", d.fd, name) },
	} {
		t.Run(what, func(t *testing.T) {
			d := testDir(t)
			require.NoError(t, plant(t, d))
			h, err := d.Store("main").Head()
			require.NoError(t, err)
			require.EqualValues(t, 7, h.Token)
			requireClass(t, ClassRecordUnreadable, h.Unreadable)
			k := newRig(t, d, newFakeClock())
			_, err = k.Acquire(bg, ann)
			requireClass(t, ClassRecordUnreadable, err)
			require.Contains(t, err.Error(), name)
			_, err = d.Store("main").lookup(name)
			require.NoError(t, err)
		})
	}
}

func TestAClaimWithAnotherTokenIsUnreadable(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	require.NoError(t, unix.Linkat(d.fd, "main.claim.00000000000000000001", d.fd, "main.claim.00000000000000000005", 0))
	h, err := d.Store("main").Head()
	require.NoError(t, err)
	require.EqualValues(t, 5, h.Token)
	require.ErrorContains(t, h.Unreadable, "it carries token 1")
}

func TestAClaimNumberBeyondAllTokensIsUnreadable(t *testing.T) {
	d := testDir(t)
	d.put(t, "main.claim.99999999999999999999", "x")
	h, err := d.Store("main").Head()
	require.NoError(t, err)
	require.Equal(t, record.TooHigh, h.Token)
	require.Error(t, h.Unreadable)
}

func TestALockDirectoryIsOpenedPrivate(t *testing.T) {
	base := t.TempDir()
	wide := filepath.Join(base, "wide")
	require.NoError(t, os.Mkdir(wide, 0o755))
	d, err := OpenDir(wide)
	require.NoError(t, err)
	defer d.Close()
	fi, err := os.Stat(wide)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), fi.Mode().Perm())
	require.NoError(t, os.Symlink(wide, filepath.Join(base, "link")))
	_, err = OpenDir(filepath.Join(base, "link"))
	requireClass(t, ClassStoreFailed, err)
	require.NoError(t, os.WriteFile(filepath.Join(base, "file"), nil, 0o600))
	_, err = OpenDir(filepath.Join(base, "file"))
	requireClass(t, ClassStoreFailed, err)
	_, err = OpenDir(filepath.Join(base, "no", "parent"))
	requireClass(t, ClassStoreFailed, err)
}

func TestWorktreesAreListedByTheirRecords(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	d.put(t, "dev.lock", "x")
	d.put(t, "dev.lock.tmp.aa", "x")
	d.put(t, "junk", "x")
	ids, err := d.Worktrees()
	require.NoError(t, err)
	require.Equal(t, []WorktreeID{"dev", "main"}, ids)
}

func TestWithdrawPutsAForeignViewBack(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	require.NoError(t, unix.Unlinkat(d.fd, "main.lock", 0))
	d.put(t, "main.lock", "theirs")
	require.NoError(t, a.Release(bg, LossReleased))
	b, _, err := d.Store("main").readFile("main.lock")
	require.NoError(t, err)
	require.Equal(t, "theirs", string(b))
}

func TestFilesArePrivate(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	names, err := d.names()
	require.NoError(t, err)
	require.Len(t, names, 4)
	for _, name := range names {
		var st unix.Stat_t
		require.NoError(t, unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW))
		require.EqualValues(t, 0o600, st.Mode&0o7777, name)
	}
}

func TestALineOfProcLocksIsReadOnlyIfItIsAFlock(t *testing.T) {
	pid, dev, ino, ok := parseLockLine("3: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF")
	require.True(t, ok)
	require.Equal(t, 1234, pid)
	require.Equal(t, "fe:00", dev)
	require.EqualValues(t, 5678, ino)
	for _, line := range []string{"", "3: -> FLOCK  ADVISORY  WRITE 12 fe:00:5 0 EOF", "3: POSIX ADVISORY WRITE 1 fe:00:5 0 EOF", "3: FLOCK a b c d"} {
		_, _, _, ok = parseLockLine(line)
		require.False(t, ok, line)
	}
}
