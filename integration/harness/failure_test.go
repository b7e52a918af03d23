package harness

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// failEnv tells a run of this test binary within a test to fail, and how.
const failEnv = "JVSFS_TEST_FAIL"

// TestInnerRunThatFailsOnPurpose fails only where another test of this file runs it.
func TestInnerRunThatFailsOnPurpose(t *testing.T) {
	how := os.Getenv(failEnv)
	if how == "" {
		return
	}
	switch how {
	case "stopped":
		Patience = 10 * time.Second // umount does not end
	case "two cases": // without events, for which the whole patience is waited
	default:
		LookPatience = Patience // the looks end, however slow the machine is
	}
	if how == "no mount" {
		NewBase(t)
		t.Fatal("the reason")
	}
	if how == "two cases" {
		for _, name := range []string{"the first", "the second"} {
			t.Run(name, func(t *testing.T) { NewMount(t, MountOptions{}); t.Error("the reason") })
		}
		return
	}
	m := NewMount(t, MountOptions{})
	require.NoError(t, os.WriteFile(m.At("f"), []byte("x"), 0o644))
	Eventually(t, "the lease is logged and audited", func() bool {
		return strings.Contains(m.LogTail(), "lease acquire") && strings.Contains(m.auditFiles(t.Context()), "lock_acquire")
	})
	switch how {
	case "killed":
		m.KillDaemon()
	case "stopped":
		for _, pid := range m.Daemons() {
			require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
		}
	case "much output":
		Workshop{T: t, Dir: "/"}.OK("sh", "-c", "seq 1 5000; exit 3")
	case "much log":
		for range 30 {
			m.MustCLI("enforce", m.Mountpoint, "observe")
			m.MustCLI("enforce", m.Mountpoint, "enforce")
		}
	}
	t.Error("the reason")
}

// failedRun is what a run that fails says.
func failedRun(t *testing.T, how string) (said, keptIn string) {
	t.Helper()
	keptIn = NewBase(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "-test.run", "^TestInnerRunThatFailsOnPurpose$", "-test.count=1")
	cmd.Env = append(os.Environ(), failEnv+"="+how, "JVSFS_BINARY="+RequireBinary(t), "JVSFS_TEST_KEEP="+keptIn)
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "it hangs: %s", out)
	require.Error(t, err, "it has not failed: %s", out)
	said = string(out)
	require.Equal(t, 1, strings.Count(said, "==== failed: inner run that fails on purpose"), said)
	require.LessOrEqual(t, strings.Count(said, "\n"), 60, said)
	for line := range strings.Lines(said) {
		require.Less(t, len(line), 400, line)
	}
	return said, keptIn
}

var againLine = regexp.MustCompile(`(?m)---- again: (.*)$`)

func TestAFailureSaysWhatFailedAndHowToRepeatIt(t *testing.T) {
	said, _ := failedRun(t, "as it is")
	require.Contains(t, said, "the reason")
	require.Regexp(t, `---- state:\n +T/mnt .*serving`, said)
	require.Regexp(t, `---- last events:\n +\S+ +acquired `, said)
	require.Regexp(t, `---- daemon's log.*:\n +\{.*\n( +\{.*\n)* +\{.*lease acquire`, said)
	again := againLine.FindStringSubmatch(said)
	require.NotNil(t, again, said)
	require.Contains(t, again[1], failEnv+"='as it is' ")
	require.NotContains(t, again[1], insideEnv)
	require.True(t, strings.HasSuffix(again[1], "-run '^TestInnerRunThatFailsOnPurpose$' ./integration/harness"), again[1])
}

func TestAFailureWithoutAMountSaysHowToRepeatIt(t *testing.T) {
	said, _ := failedRun(t, "no mount")
	require.NotContains(t, said, "---- state")
	require.Regexp(t, `---- again: .*-run '\^TestInnerRunThatFailsOnPurpose\$' ./integration/harness`, said)
}

func TestTheEventsOfAKilledDaemonAreThoseOfTheAuditChain(t *testing.T) {
	said, _ := failedRun(t, "killed")
	require.Regexp(t, `---- last events:\n(.*\n)? +\(no daemon tells any; the audit chain:\)\n +\{.*lock_acquire`, said)
	require.Regexp(t, `---- again: .*integration/harness`, said)
}

// A stopped daemon answers nothing, and umount does not end in time: the report is there, and says which process stays.
func TestAFailureIsToldAlthoughTheDaemonHangs(t *testing.T) {
	said, _ := failedRun(t, "stopped")
	require.Regexp(t, `---- last events:\n +\(no daemon tells any; the audit chain:\)\n +\{.*lock_acquire`, said)
	require.Regexp(t, `---- daemon's log.*:\n +\{`, said)
	require.Regexp(t, `---- again: .*integration/harness`, said)
	require.Regexp(t, `---- stays.*:\n(.*\n)* +process \d+ .* mount `, said)
}

func TestOfTwoCasesThatFailOneIsToldWhole(t *testing.T) {
	said, _ := failedRun(t, "two cases")
	require.Contains(t, said, "==== failed: inner run that fails on purpose: the first (T is ")
	require.Contains(t, said, "failed, too: inner run that fails on purpose: the second\n")
	require.Contains(t, said, "again: ")
	require.Contains(t, said, "-run '^TestInnerRunThatFailsOnPurpose$/^the_second$' ./integration/harness")
}

func TestLongOutputOfAFailureIsCutAndKeptWhole(t *testing.T) {
	said, keptIn := failedRun(t, "much output")
	require.Contains(t, said, " lines left out; all of it: "+keptIn)
	require.NotContains(t, said, "2500")
	path := regexp.MustCompile(`all of it: (\S+)`).FindStringSubmatch(said)
	require.NotNil(t, path, said)
	require.Contains(t, ReadText(t, path[1]), "\n2500\n")
}

func TestALongLogIsShownByItsEndAndKeptWhole(t *testing.T) {
	said, keptIn := failedRun(t, "much log")
	require.Regexp(t, `---- daemon's log, whole in `+keptIn+`\S+ \(\d+ lines before these\):`, said)
	path := regexp.MustCompile(`whole in (\S+)`).FindStringSubmatch(said)
	require.NotNil(t, path, said)
	require.Contains(t, ReadText(t, path[1]), `"msg":"serving"`)
	require.Regexp(t, `---- last events \(\d+ lines before these\):`, said)
}

func TestNamesOfTestsInWords(t *testing.T) {
	for name, words := range map[string]string{
		"TestAWriteOfARobbedHolderIsRefused":           "a write of a robbed holder is refused",
		"TestADirectoryOnAFUSEThatNobodyKnows/at_once": "a directory on a FUSE that nobody knows: at once",
		"TestLockPid":             "lock pid",
		"TestJSONOfALease":        "JSON of a lease",
		"TestACommandWithFD":      "a command with FD",
		"TestWrites/by_root/held": "writes: by root/held",
		"TestEachWriteReachesAStoreOfDirectIO/row_7#01": "each write reaches a store of direct IO: row 7#01",
	} {
		require.Equal(t, words, InWords(name))
	}
}

func TestARepeatTakesTheSettingsAlongButNotABinaryThatWillBeGone(t *testing.T) {
	require.Equal(t, []string{"GOMAXPROCS=1", "JVSFS_RACE=1", "JVSFS_SEED='a b'"}, told([]string{
		"PATH=/bin", "JVSFS_RACE=1", insideEnv + "=1", "JVSFS_SEED=a b", "GOMAXPROCS=1", "JVSFS_BINARY=" + os.TempDir() + "/x/jvsfs"}))
	require.Equal(t, []string{"JVSFS_BINARY=/opt/jvsfs"}, told([]string{"JVSFS_BINARY=/opt/jvsfs"}))
	require.Equal(t, `'it'\''s'`, quoted("it's"))
}
