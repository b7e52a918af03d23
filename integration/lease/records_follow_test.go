package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// grant takes and gives back a lease on a directory that is mounted for it, and returns the token.
func (f *forest) grant(w way) string {
	f.T.Helper()
	at := f.mountOK(w)
	token := f.grantAt(at)
	f.unmountAll()
	return token
}

func (f *forest) grantAt(at string) string {
	f.T.Helper()
	out := f.MustCLI("lock", "acquire", "--json", "--pid", strconv.Itoa(os.Getpid()), at)
	var r harness.Record
	harness.RequireJSON(f.T, out, &r)
	f.MustCLI("lock", "release", "--pid", strconv.Itoa(os.Getpid()), at)
	return r.Token.String()
}

func (f *forest) rename(from, to string) {
	f.T.Helper()
	require.NoError(f.T, os.Rename(filepath.Join(f.Base, from), filepath.Join(f.Base, to)))
}

// Records follow the directory: after a rename it continues its tokens, and another directory in its place has
// records of its own.
func TestLeaseRecordsFollowARenamedDirectory(t *testing.T) {
	for name, control := range map[string]string{"usual": "", "control": "c1"} {
		t.Run(name, func(t *testing.T) {
			f := newForest(t)
			forgetUsualRecords(t, f.Base)
			f.dir("volume/plain")
			require.Equal(t, "1", f.grant(way{source: "volume/plain", control: control}))
			f.rename("volume/plain", "volume/moved")
			require.Equal(t, "2", f.grant(way{source: "volume/moved", control: control}))
			other := f.dir("volume/plain")
			if control == "" {
				require.Equal(t, "1", f.grant(way{source: "volume/plain"}), "it is another directory")
				require.Equal(t, "3", f.grant(way{source: "volume/moved"}))
				require.Equal(t, "2", f.grant(way{source: "volume/plain"}))
				return
			}
			_, said, exit := f.try(way{source: "volume/plain", control: control})
			require.Equal(t, harness.ExitUsage, exit, said)
			require.Contains(t, said, "are those of another directory, which was at "+filepath.Join(f.Base, "volume/moved"))
			all, ok, _ := f.Doctor("--control", filepath.Join(f.Base, control), other)
			require.False(t, ok)
			require.NotEmpty(t, all.Of("tree.other", "another directory"))
			f.CLI("doctor", "--repair", "--force", "--control", filepath.Join(f.Base, control), other)
			require.Equal(t, "3", f.grant(way{source: "volume/plain", control: control}), "on purpose they share one lease")
		})
	}
}

// Commands without a mount find the records of a directory that was renamed.
func TestCommandsFindTheRecordsOfARenamedDirectory(t *testing.T) {
	f := newForest(t)
	forgetUsualRecords(t, f.Base)
	f.dir("volume/plain/sub")
	require.Equal(t, "1", f.grant(way{source: "volume/plain"}))
	f.rename("volume/plain", "volume/moved")
	require.Equal(t, "2", f.grantAt(filepath.Join(f.Base, "volume/moved")))
	require.Equal(t, "3", f.grantAt(filepath.Join(f.Base, "volume/moved/sub")), "it lies in a directory with records")
}

// A copy that replaces a removed directory continues its tokens.
func TestARestoredCopyContinuesTheTokens(t *testing.T) {
	for name, control := range map[string]string{"usual": "", "control": "c1"} {
		t.Run(name, func(t *testing.T) {
			f := newForest(t)
			forgetUsualRecords(t, f.Base)
			f.dir("volume/plain")
			require.Equal(t, "1", f.grant(way{source: "volume/plain", control: control}))
			out, err := exec.Command("cp", "-a", filepath.Join(f.Base, "volume/plain"), filepath.Join(f.Base, "volume/copy")).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.NoError(t, os.RemoveAll(filepath.Join(f.Base, "volume/plain")))
			f.rename("volume/copy", "volume/plain")
			require.Equal(t, "2", f.grant(way{source: "volume/plain", control: control}))
		})
	}
}

// Two directories of one name do not come to share a lease by sharing --control.
func TestTwoDirectoriesOfOneNameShareNoLeaseInOneControl(t *testing.T) {
	f := newForest(t)
	require.Equal(t, "1", f.grant(way{source: "plain", control: "c1"}))
	_, said, exit := f.try(way{source: "other/plain", control: "c1"})
	require.Equal(t, harness.ExitUsage, exit, said)
	require.Contains(t, said, "which was at "+filepath.Join(f.Base, "plain"))
	_, errs, exit := f.CLI("lock", "acquire", "--pid", strconv.Itoa(os.Getpid()), "--control", filepath.Join(f.Base, "c1"), filepath.Join(f.Base, "other/plain"))
	require.Equal(t, harness.ExitUsage, exit, errs)
	require.Equal(t, "2", f.grant(way{source: "plain", control: "c1"}))
}

// One control directory is for one repository.
func TestASecondRepositoryInOneControlIsRefused(t *testing.T) {
	f := newForest(t)
	f.mountOK(way{source: "repo", control: "c1"})
	_, said, exit := f.try(way{source: "around/repo", control: "c1"})
	require.Equal(t, harness.ExitUsage, exit, said)
	require.Contains(t, said, "which was at "+filepath.Join(f.Base, "repo"))
}

// Records of a release that found them by the path alone are taken over, and follow from then on.
func TestRecordsOfAnEarlierReleaseAreTakenOver(t *testing.T) {
	f := newForest(t)
	forgetUsualRecords(t, f.Base)
	source := f.dir("volume/plain")
	sum := sha256.Sum256([]byte(source))
	old := filepath.Join(usualRecords, "plain-"+hex.EncodeToString(sum[:6]))
	require.Equal(t, "1", f.grant(way{source: "volume/plain"}))
	require.FileExists(t, filepath.Join(old, "plain.claim.00000000000000000001"), "where earlier releases had them")
	require.NoError(t, os.Remove(filepath.Join(old, "#tree.plain.json")), "they had nothing else there")
	all, _, _ := f.Doctor()
	require.Len(t, all.Of("tree.unbound", old), 1)

	require.Equal(t, "2", f.grant(way{source: "volume/plain"}))
	all, _, _ = f.Doctor()
	require.Empty(t, all.Of("tree.unbound", old))
	f.rename("volume/plain", "volume/moved")
	require.Equal(t, "3", f.grant(way{source: "volume/moved"}))
}

// A tree that gets other records continues its tokens.
func TestATreeThatGetsOtherRecordsContinuesItsTokens(t *testing.T) {
	for name, source := range map[string]string{"directory": "volume/plain", "worktree": "repo/main"} {
		t.Run(name, func(t *testing.T) {
			f := newForest(t)
			forgetUsualRecords(t, f.Base)
			f.dir(source)
			for i, control := range []string{"", "c1", "", "c2", "c1", "c1", ""} {
				require.Equal(t, strconv.Itoa(i+1), f.grant(way{source: source, control: control}), "with %q", control)
			}
		})
	}
	t.Run("repository", func(t *testing.T) {
		f := newForest(t)
		for i, control := range []string{"", "c1", ""} {
			at := f.mountOK(way{source: "repo", control: control})
			require.Equal(t, strconv.Itoa(i+1), f.grantAt(filepath.Join(at, "main")))
			if i != 1 {
				require.Equal(t, strconv.Itoa(i/2+1), f.grantAt(filepath.Join(at, "worktrees/a")))
			}
			f.unmountAll()
		}
	})
}

// While a lease of other records lasts, nobody serves the tree with these.
func TestAMountIsRefusedWhileOtherRecordsHoldALease(t *testing.T) {
	f := newForest(t)
	forgetUsualRecords(t, f.Base)
	source := filepath.Join(f.Base, "plain")
	who := harness.StartActor(t, "who")
	f.MustCLI("lock", "acquire", "--pid", strconv.Itoa(who.PID()), source)
	_, said, exit := f.try(way{source: "plain", control: "c1"})
	require.Equal(t, harness.ExitConflict, exit, said)
	require.Contains(t, said, "is held by other records of it")
	f.MustCLI("lock", "release", "--pid", strconv.Itoa(who.PID()), source)
	require.Equal(t, "2", f.grant(way{source: "plain", control: "c1"}))
}
