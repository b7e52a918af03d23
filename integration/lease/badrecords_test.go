package lease

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// badRecord is one way in which a lock record is invalid.
type badRecord struct {
	name, class, state string
	exit               int
	spoil              func(fields map[string]any, text string) string
}

var badRecords = []badRecord{
	{"torn", "E_RECORD_UNREADABLE", "unreadable", harness.ExitStore, func(_ map[string]any, text string) string { return text[:200] }},
	{"empty", "E_RECORD_UNREADABLE", "unreadable", harness.ExitStore, func(map[string]any, string) string { return "" }},
	{"zeroes", "E_RECORD_UNREADABLE", "unreadable", harness.ExitStore, func(map[string]any, string) string { return strings.Repeat("\x00", 4096) }},
	{"of another worktree", "E_RECORD_UNREADABLE", "unreadable", harness.ExitStore, harness.With("worktree_id", "other")},
	{"without a nonce", "E_RECORD_UNREADABLE", "unreadable", harness.ExitStore, harness.With("holder_nonce", "")},
	{"of another token", "E_RECORD_UNREADABLE", "unreadable", harness.ExitStore, harness.With("fencing_token", 77)},
	{"of the future", "E_CLOCK_SKEW_EXCEEDED", "skewed", harness.ExitClockSkew, func(fields map[string]any, _ string) string {
		ahead := time.Now().UTC().Add(24 * time.Hour)
		fields["released"] = false
		fields["created_at"], fields["last_renewed_at"] = ahead, ahead
		fields["lease_expires_at"] = ahead.Add(30 * time.Second)
		return harness.Encoded(fields)
	}},
}

// With any bad record nobody writes, every command names the file, and no record is deleted so that a grant
// becomes possible.
func TestNobodyWritesWhileALeaseRecordIsBad(t *testing.T) {
	for _, bad := range badRecords {
		for _, onFree := range []string{"deny", "acquire", "allow"} {
			t.Run(bad.name+"/"+onFree, func(t *testing.T) {
				m := harness.NewMount(t, harness.MountOptions{OnFree: onFree, Prepare: harness.WithFiles("f")})
				a := harness.StartActor(t, "a")
				first := m.Acquire(a)
				m.Release(a)
				good := harness.ReadText(t, firstOf(m.HeadClaim("")))
				file, text := m.SpoilHead(bad.spoil)
				before := m.Digest()
				expectUntrusted(m, t, a, bad, file)
				require.Empty(t, before.Diff(m.Digest()))
				require.Equal(t, text, harness.ReadText(t, file), "the record has been touched")
				entries, err := os.ReadDir(m.LockDir)
				require.NoError(t, err)
				for _, e := range entries {
					require.NotContains(t, e.Name(), "claim."+pad(first.TokenNumber(t)+1), "a claim above what cannot be read")
				}
				// After the repair everything works, and no token comes twice.
				require.NoError(t, os.WriteFile(file, []byte(good), 0o600))
				second := m.Acquire(a)
				require.Greater(t, second.TokenNumber(t), first.TokenNumber(t))
				a.OK(m.Put("f"))
			})
		}
	}
}

func pad(token uint64) string {
	digits := strconv.FormatUint(token, 10)
	return strings.Repeat("0", 20-len(digits)) + digits
}

func firstOf[A, B any](a A, _ B) A { return a }

// expectUntrusted asks every command about a worktree with a bad record.
func expectUntrusted(m *harness.Mount, t *testing.T, a *harness.Actor, bad badRecord, file string) {
	t.Helper()
	a.Fails(m.Put("f"), "EROFS")
	a.Fails(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EROFS")
	for _, verb := range []string{"acquire", "steal"} {
		exit, said := m.TryLock(verb, a)
		require.Equal(t, bad.exit, exit, said)
		require.Contains(t, said, bad.class)
		require.Contains(t, said, file, "lock %s names the file", verb)
	}
	_, errs, exit := m.CLI("exec", m.Mountpoint, "--", "touch", m.At("by exec"))
	require.Equal(t, bad.exit, exit, errs)

	st := m.WorktreeStatus("source")
	require.Equal(t, bad.state, st.State)
	require.Equal(t, file, st.File)

	x, exit := m.Explain(a.PID(), m.At("f"))
	require.False(t, x.Allowed)
	require.NotZero(t, exit)
	require.Contains(t, x.Sentence+x.Next+x.Status.File, file, "explain names the file")
	assert.Equal(t, bad.class, x.Class)

	findings, ok, exit := m.Doctor()
	require.Equal(t, 1, exit)
	require.False(t, ok)
	found := findings.About("records", "worktree source")
	require.Len(t, found, 1)
	require.Equal(t, "fail", found[0].Severity)
	assert.Contains(t, found[0].Message, file, "doctor names the file")
	require.NotEmpty(t, found[0].Fix)
	a.Fails(m.Put("f"), "EROFS")
}
