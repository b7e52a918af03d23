package lockdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/lease/record"
)

func TestProbeOfADirectory(t *testing.T) {
	dir := t.TempDir()
	r := probeDir(dir, probeSteps)
	require.Nil(t, r.failedAt, "%v", r.err)
	require.Empty(t, testkit.BadFindings(t, probeFindings(dir, r, time.Minute)))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "what was tried is gone")
	require.Equal(t, "locks.unwritable", probeDir(dir+"/none", probeSteps).failedAt.id)
}

// A file system that does not do what leases need: each step is believed by what it
// answers.
func TestProbeFindings(t *testing.T) {
	dir := t.TempDir()
	for _, step := range probeSteps {
		for _, answer := range []error{errLax, unix.EOPNOTSUPP, unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EIO} {
			broken := step
			broken.try = func(*prober) error { return answer }
			found := probeFindings("/locks", probeDir(dir, []probeStep{probeSteps[0], broken}), time.Minute)
			require.Equal(t, []string{step.id}, testkit.BadFindings(t, found), "%v", answer)
			require.Contains(t, found[0].Message, step.what)
		}
	}
	for skew, want := range map[time.Duration][]string{
		2 * time.Second: {}, -2 * time.Second: {}, 3 * time.Second: {"locks.clock"}, -time.Hour: {"locks.clock"},
	} {
		require.Equal(t, want, testkit.BadFindings(t, probeFindings("/locks", probed{skew: skew}, 2*time.Second)), "%v", skew)
	}
	require.Equal(t, errLax, onlyOnce(func() error { return nil }), "a second one that is let through")
	other, err := os.CreateTemp(dir, "other")
	require.NoError(t, err)
	p := prober{dir: dir, base: filepath.Join(dir, "base"), files: []*os.File{other}}
	defer p.remove()
	require.NoError(t, os.WriteFile(p.base, nil, 0o600))
	require.Equal(t, errLax, p.flock(), "two that both get their lock, for they are of two files")
	require.Equal(t, unix.EIO, onlyOnce(func() error { return unix.EIO }))
	require.Equal(t, unix.EIO, withoutPath(&os.PathError{Path: "/proc/self/fd/9/x", Err: unix.EIO}))
	require.Equal(t, unix.EIO, withoutPath(&os.LinkError{Err: unix.EIO}))
}

// No permission and no repair brings hard links or locks to a file system that has none,
// root's neither: vfat and a FUSE file system without them answer EPERM.
func TestProbeOfAFileSystemWithoutLinksOrLocks(t *testing.T) {
	for _, step := range probeSteps {
		for _, answer := range []error{
			unix.EPERM, unix.EOPNOTSUPP, unix.ENOSYS, unix.EMLINK,
			&os.LinkError{Op: "link", Err: unix.EPERM}, os.NewSyscallError("flock", unix.ENOLCK),
		} {
			broken := step
			broken.try = func(*prober) error { return answer }
			found := probeFindings("/locks", probeDir(t.TempDir(), []probeStep{broken}), time.Minute)
			require.Len(t, found, 1)
			if os.Geteuid() == 0 {
				require.NotContains(t, found[0].Fix, "run doctor as root", "%s: %v", step.id, answer)
			}
			if step.id != "locks.link" && step.id != "locks.flock" {
				continue
			}
			require.Equal(t, []string{step.id}, testkit.BadFindings(t, found), "%v", answer)
			require.Equal(t, finding.SevFail, found[0].Severity)
			require.Equal(t, "keep the lease records on another file system (--control DIR)", found[0].Fix)
			require.Contains(t, found[0].Message, "its file system has no ")
			require.Contains(t, found[0].Message, step.what)
		}
	}
}

func TestSpaceFindings(t *testing.T) {
	for _, c := range []struct {
		st   unix.Statfs_t
		want []string
	}{
		{unix.Statfs_t{Bsize: 4096, Blocks: 1e6, Bfree: 1e5, Files: 1e6, Ffree: 1e5}, []string{}},
		{unix.Statfs_t{Bsize: 4096, Blocks: 1e6, Bfree: 1000, Files: 0}, []string{"locks.space"}},
		{unix.Statfs_t{Bsize: 4096, Blocks: 1e6, Bfree: 10, Files: 1e6, Ffree: 10}, []string{"locks.space", "locks.inodes"}},
		{unix.Statfs_t{Bsize: 4096, Blocks: 1e6, Bfree: 1e5, Files: 1e6, Ffree: 500}, []string{"locks.inodes"}},
		{unix.Statfs_t{Bsize: 4096}, []string{}}, // it does not count
	} {
		require.Equal(t, c.want, testkit.BadFindings(t, spaceFindings("/locks", c.st)), "%+v", c.st)
	}
}

// What a doctor left that was killed goes with --repair; a young one may be at work.
func TestProbesOfAKilledDoctorAreRemoved(t *testing.T) {
	d := Dir{Path: t.TempDir(), Name: "/locks"}
	old := filepath.Join(d.Path, probePrefix+"123.x")
	young := filepath.Join(d.Path, probePrefix+"456")
	for _, name := range []string{old, young} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(old, past, past))
	require.Equal(t, []string{"leftovers.stale"}, testkit.BadFindings(t, checkLeftovers(d)))
	repaired := repairProbes(d)
	require.Len(t, repaired, 1)
	require.Equal(t, []string{"repair.done", finding.SevOK}, []string{repaired[0].ID, repaired[0].Severity})
	require.Contains(t, repaired[0].Message, "/locks/"+probePrefix+"123.x")
	require.NoFileExists(t, old)
	require.FileExists(t, young)
}

func TestRecordFindingsSayWhy(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.claim.00000000000000000001"), []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.taint.00000000000000000001."+strings.Repeat("ab", 16)), []byte("late"), 0o600))
	require.NoError(t, os.Chmod(dir, 0o755))
	ids := testkit.BadFindings(t, Check(t.Context(), Dir{Path: dir, Name: dir}, record.DefaultPolicy(), Repair{}))
	for _, id := range []string{"locks.mode", "records.unreadable", "taint.late"} {
		require.Contains(t, ids, id)
	}
	require.Equal(t, []string{"locks.kind"}, testkit.BadFindings(t, Check(t.Context(), Dir{Path: filepath.Join(dir, "main.claim.00000000000000000001")}, record.DefaultPolicy(), Repair{})))
}

// One who trusts the clocks of one host sets the bound to 0.
func TestProbeAllowsForTheNoiseOfClocks(t *testing.T) {
	for skew, want := range map[time.Duration][]string{-4 * time.Millisecond: {}, ClockNoise: {}, -ClockNoise - 1: {"locks.clock"}} {
		require.Equal(t, want, testkit.BadFindings(t, probeFindings("/locks", probed{skew: skew}, 0)), "%v", skew)
	}
}

// The owner of a repository can put anything in the place of a taint: it is named, and neither waited for nor followed nor read to its end.
func TestATaintThatIsNoFileIsNamedAndNotRead(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("topsecret"), 0o600))
	taint := func(n string) string {
		return filepath.Join(dir, "main.taint.0000000000000000000"+n+"."+strings.Repeat("ab", 16))
	}
	require.NoError(t, unix.Mkfifo(taint("1"), 0o600))
	require.NoError(t, os.Symlink("/dev/zero", taint("2")))
	require.NoError(t, os.Symlink(secret, taint("3")))
	require.NoError(t, os.Mkdir(taint("4"), 0o700))
	require.NoError(t, os.WriteFile(taint("5"), []byte("late"), 0o600))
	require.NoError(t, os.Truncate(taint("5"), 1<<40))
	found := checkTaints(Dir{Path: dir, Name: "/locks"})
	require.Len(t, found, 5)
	for _, f := range found {
		require.Equal(t, "taint.late", f.ID)
		require.Contains(t, f.Message, "/locks/main.taint.")
		require.NotContains(t, f.Message, "topsecret")
	}
	require.Contains(t, found[4].Message, "late")
}

// A daemon looks by a descriptor. People find the file by its name.
func TestARecordIsNamedAsPeopleFindIt(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.claim.00000000000000000001"), nil, 0o600))
	found := checkRecords(Dir{Path: dir, Name: "/srv/repo/.jvs/locks"}, record.DefaultPolicy())
	require.Len(t, found, 1)
	require.Contains(t, found[0].Message, "(file /srv/repo/.jvs/locks/main.claim.00000000000000000001)")
}
