package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// clause is a sentence of the locking spec (v6.3), in short, and where it is kept: by a test, in a directory of the module, or by a
// line of jvsfs-lease(7) that says why it is done otherwise.
type clause struct {
	section, says string
	in, test      string
	otherwise     string
}

var spec = []clause{
	{"goals", "an exclusive worktree has one writer and many readers", "gate", "TestOthersAreRefusedWhileALeaseIsHeld", ""},
	{"goals", "a stale holder does not write", "gate", "TestAHandleWritesInItsEpochOnly", ""},
	{"goals", "bounded skew changes nothing", "lease", "TestATakerWhoseClockIsAheadNeverRobsALivingHolder", ""},
	{"scope", "locks are files in .jvs/locks", "integration/fence", "TestNobodyChangesLeaseRecordsThroughTheMount", ""},
	{"scope", "one writer for each exclusive worktree", "integration/fence", "TestTheHolderOfOneWorktreeIsRefusedInAnother", ""},
	{"scope", "mode shared gives no guarantee", "gate", "TestEachModeOfAWorktreeLetsWritesThroughAsItSays", ""},
	{"schema", "the fourteen fields, and how the holder is written", "lease", "TestARecordHasTheFieldsOfTheSpec", ""},
	{"policy", "the default durations", "lease", "TestARecordHasTheFieldsOfTheSpec", ""},
	{"acquire", "the lock file is made with O_CREAT and O_EXCL", "lease", "TestALeaseLastsWithoutItsView", "`link(2)` to a name that never existed"},
	{"acquire", "E_LOCK_CONFLICT while the lease lasts", "lease", "TestTheNextTokenFollowsTheReleasedOne", ""},
	{"acquire", "after expiry, skew and grace it is stolen, with the next token", "lease", "TestStealOnlyAfterSkewAndGrace", ""},
	{"acquire", "the record and its directory are fsynced", "lease", "TestAGrantIsDurableBeforeAnybodyWrites", ""},
	{"acquire", "JuiceFS makes O_EXCL atomic", "", "", "Several hosts, only `link`, `O_EXCL` and `rename`"},
	{"renew", "only the holder renews, by nonce and session", "cmd/jvsfs/internal/cli", "TestALeaseThatWasTakenOverIsNeitherRenewedNorReleased", "Root renews and releases without the nonce"},
	{"renew", "a renewal extends by the duration", "lease", "TestARenewalExtendsByTheDuration", ""},
	{"renew", "who cannot renew stops writing at once", "gate", "TestHandlesGoOnAfterAFailedRenewalThatWasRepaired", ""},
	{"steal", "only when expiry, skew and grace are over", "lease", "TestStealOnlyAfterSkewAndGrace", ""},
	{"steal", "the new record is written beside and fsynced before it counts", "lease", "TestAGrantIsDurableBeforeAnybodyWrites", ""},
	{"steal", "the lock file is replaced by a rename", "lease", "TestViewIsTheHeadAndItsDeletionChangesNothing", "`<id>.lock` is a view for other readers, never the authority"},
	{"steal", "of concurrent stealers one wins", "integration/lease", "TestOfEightStealsAtOnceOneWins", ""},
	{"steal", "what the loser leaves is harmless, and doctor removes it", "lease/repair", "TestMendRemovesLeftoversOnly", ""},
	{"steal", "the token and acquire_seq count on", "lease", "TestAStealIncrementsTokenAndSequence", ""},
	{"steal", "it is audited, or does not happen", "lease", "TestAStealIsAuditedBeforeItHappens", ""},
	{"release", "only the holder releases, by nonce and session", "cmd/jvsfs/internal/cli", "TestALeaseThatWasTakenOverIsNeitherRenewedNorReleased", "Root renews and releases without the nonce"},
	{"release", "E_LOCK_NOT_HELD for anybody else", "lease", "TestAForeignLeaseIsNotRenewed", ""},
	{"fencing", "a write is judged by the token of now", "gate", "TestAHandleWritesInItsEpochOnly", ""},
	{"fencing", "a stale token is E_FENCING_MISMATCH", "gate", "TestAHandleWritesInItsEpochOnly", ""},
	{"fencing", "nothing is published after the token has changed", "integration/fence", "TestASnapshotIsNotPublishedAfterTheLeaseChangedHands", ""},
	{"quiesced", "a snapshot has a quiesced window", "integration/lease", "TestNoSnapshotOfAQuiescedWorktreeIsTorn", ""},
	{"quiesced", "nobody writes meanwhile", "integration/lease", "TestAWriteWaitsForTheEndOfASnapshot", ""},
	{"best effort", "a snapshot without a window is allowed", "integration/fence", "TestASnapshotThatBecomesReadyStaysAsItIs", ""},
	{"best effort", "its descriptor has a risk label", "", "", "risk labels"},
	{"best effort", "history and info show the risk", "", "", "risk labels"},
	{"READY", "only READY snapshots are seen", "", "", "A mount cannot hide it"},
	{"READY", "READY snapshots stay as they are", "integration/fence", "TestAReadySnapshotCannotBeChanged", ""},
	{"READY", "unfinished ones are hidden, and recovered by doctor", "", "", "recovery of an unfinished one are JVS' own work"},
	{"clocks", "last_renewed_at by the wall clock and the monotonic one", "lease", "TestARenewalExtendsByTheDuration", "A record holds wall clock times"},
	{"clocks", "observed_skew by its formula", "lease", "TestClockStepWhileWatchingRefusesTheSteal", "One deviation is deliberate"},
	{"clocks", "E_CLOCK_SKEW_EXCEEDED refuses a steal", "lease", "TestClockStepWhileWatchingRefusesTheSteal", ""},
	{"clocks", "an operator resolves the drift", "", "", "A refusal for clocks need not wait for a person"},
	{"clocks", "doctor --strict warns at half the bound", "cmd/jvsfs/internal/doctor", "TestDoctorWarnsAtHalfTheSkewBoundAndFailsAboveIt", ""},
	{"classes", "the names of the seven classes", "cmd/jvsfs", "TestTheClassesOfFailuresAreThoseOfTheSpec", ""},
}

// Each sentence of the spec is kept by a test that is there, or by a line of the page that says why not.
func TestEveryClauseOfTheSpecIsKept(t *testing.T) {
	lines := strings.Join(strings.Fields(page(t, "jvsfs-lease.7")), " ")
	for _, c := range spec {
		require.False(t, c.test == "" && c.otherwise == "", c.says)
		if c.otherwise != "" {
			require.Contains(t, lines, c.otherwise, c.says)
		}
		if c.test != "" {
			require.True(t, hasTest(t, c.in, c.test), "%s: %s: %s has no %s", c.section, c.says, c.in, c.test)
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}

func TestTheClassesOfFailuresAreThoseOfTheSpec(t *testing.T) {
	require.Equal(t, []lease.Class{
		"E_LOCK_CONFLICT", "E_LOCK_EXPIRED", "E_LOCK_NOT_HELD", "E_FENCING_MISMATCH", "E_CLOCK_SKEW_EXCEEDED", "E_CONSISTENCY_UNAVAILABLE", "E_PARTIAL_SNAPSHOT",
	}, []lease.Class{
		lease.ClassLockConflict, lease.ClassLockExpired, lease.ClassLockNotHeld, lease.ClassFencingMismatch, lease.ClassClockSkewExceeded,
		lease.ClassConsistencyUnavailable, lease.ClassPartialSnapshot,
	})
}
