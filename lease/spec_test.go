package lease

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the locking spec (v6.3) says of a record and of its life, where no other test of the package does.

// "Lock record schema (MUST)", and the default policy values.
func TestARecordHasTheFieldsOfTheSpec(t *testing.T) {
	d := testDir(t)
	r := newRig(t, d, newFakeClock())
	r.must(t, ann)
	text, err := os.ReadFile(filepath.Join(d.Path(), "main.lock")) // locks/<worktree_id>.lock
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	for _, name := range []string{
		"lock_id", "worktree_id", "holder_id", "holder_nonce", "session_id", "acquire_seq", "created_at", "last_renewed_at", "lease_duration_ms",
		"renew_interval_ms", "max_clock_skew_ms", "steal_grace_ms", "lease_expires_at", "fencing_token",
	} {
		require.NotEmpty(t, fields[name], name)
	}
	require.Equal(t, "main", fields["worktree_id"])
	require.Regexp(t, regexp.MustCompile(`^h:ann:10:7$`), fields["holder_id"], "host:user:pid:start_time")
	for name, ms := range map[string]float64{"lease_duration_ms": 30000, "renew_interval_ms": 10000, "max_clock_skew_ms": 2000, "steal_grace_ms": 1000} {
		require.Equal(t, ms, fields[name], name)
	}
}

// "After successful create, fsync lock file and parent directory": the record is on the disk before it gets its name, the
// name is before anybody writes.
func TestAGrantIsDurableBeforeAnybodyWrites(t *testing.T) {
	var seen []string
	t.Cleanup(func() { Inject(Failpoints{}) })
	Inject(Failpoints{Change: func(op string, call func() error) error {
		seen = append(seen, op)
		return call()
	}})
	r := newRig(t, testDir(t), newFakeClock())
	r.fence.onOpen = func(Grant) { seen = append(seen, "open") }
	r.must(t, ann)
	var order []string
	for _, op := range seen {
		switch op {
		case "record.write", "record.fsync", "claim.link", "dir.fsync", "open":
			order = append(order, op)
		}
		if op == "open" {
			break
		}
	}
	require.Equal(t, []string{"record.write", "record.fsync", "claim.link", "dir.fsync", "open"}, order)
}

// "New holder increments fencing token and acquire_seq".
func TestAStealIncrementsTokenAndSequence(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	before, _ := a.Observe()
	a.crash()
	c.advance(time.Minute)
	b := newRig(t, d, c)
	_, err := b.Steal(bg, bob)
	require.NoError(t, err)
	after, _ := b.Observe()
	require.Equal(t, before.Record.FencingToken+1, after.Record.FencingToken)
	require.Equal(t, before.Record.AcquireSeq+1, after.Record.AcquireSeq)
	require.NotEqual(t, before.Record.HolderNonce, after.Record.HolderNonce)
}

// "Renewal extends lease by lease_duration_ms", and notes when it was.
func TestARenewalExtendsByTheDuration(t *testing.T) {
	c := newFakeClock()
	r := newRig(t, testDir(t), c)
	r.must(t, ann)
	before, _ := r.Observe()
	c.advance(10 * time.Second)
	r.tick()
	after, _ := r.Observe()
	require.Equal(t, before.Record.LeaseExpiresAt.Add(10*time.Second), after.Record.LeaseExpiresAt)
	require.Equal(t, c.Wall(), after.Record.LastRenewedAt)
	require.Equal(t, c.Wall().Add(30*time.Second), after.Record.LeaseExpiresAt)
}
