package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// leaves writes unreleased leases of worktrees that nobody has mounted, as a life of the host leaves them behind. own is how many are of
// this host; there is one more, of another one.
func leaves(t *testing.T, m *harness.Mount, own int) {
	t.Helper()
	file, _ := m.HeadClaim("")
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(strings.TrimRight(harness.ReadText(t, file), "\x00 \n")), &fields))
	then := time.Now().Add(-time.Hour)
	fields["released"], fields["fencing_token"] = false, 1
	fields["lease_duration_ms"], fields["renew_interval_ms"], fields["max_clock_skew_ms"], fields["steal_grace_ms"] = 2000, 500, 1000, 0
	fields["last_renewed_at"], fields["lease_expires_at"] = then.UTC(), then.Add(2*time.Second).UTC()
	for i := range own + 1 {
		id := "left" + strconv.Itoa(i)
		if i == own {
			id, fields["holder_id"], fields["host_boot_id"] = "others", "h1.example:zoe:42:7", "another-boot"
		}
		fields["worktree_id"], fields["holder_nonce"] = id, fmt.Sprintf("%032x", i+1)
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		claim := filepath.Join(m.LockDir, fmt.Sprintf("%s.claim.%020d", id, 1))
		require.NoError(t, os.WriteFile(claim, text, 0o600))
		require.NoError(t, os.Chtimes(claim, then, then))
		require.NoError(t, os.Link(claim, filepath.Join(m.LockDir, id+".lock")))
	}
}

// leftOver counts the worktrees whose newest claim is not released.
func leftOver(t *testing.T, m *harness.Mount) (n int) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(m.LockDir, "*.lock"))
	require.NoError(t, err)
	return len(all) // the view is absent while nobody holds
}

// manyLeft is how many worktrees a host leaves over: JVSFS_TEST_LEFT=1000 for a thousand.
func manyLeft(t *testing.T) int {
	said := os.Getenv("JVSFS_TEST_LEFT")
	if said == "" {
		return 100
	}
	n, err := strconv.Atoi(said)
	require.NoError(t, err)
	return n
}

// However many leases a host has left, the mount serves at once. They are given back one after the other. That of another host stays.
// Then the mount sleeps as if nothing had been.
func TestManyLeftLeasesAreGivenBackOneByOne(t *testing.T) {
	m, _ := farMount(t, nil)
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	m.Release(a)
	m.Unmount()
	left := manyLeft(t)
	leaves(t, m, left)
	m.Opts.Policy = harness.Hasty
	logged := len(harness.ReadText(t, m.LogFile())) // by the daemon of before
	m.Mount()
	require.Contains(t, saidBeforeIt(t, m, logged), `"msg":"serving"`, "the mount serves before anything is taken")
	harness.EventuallyNoted(t, "one is given back", func() (bool, string) { n := leftOver(t, m); return n <= left, fmt.Sprint(n) })
	m.Acquire(a)
	a.OK(m.Put("f"))
	m.Release(a)
	for more := left; more > 0; more -= 20 { // patience for each twenty
		harness.EventuallyNoted(t, "they are given back", func() (bool, string) {
			n := leftOver(t, m)
			return n <= max(more-20, 0)+1, fmt.Sprint(n)
		})
	}
	steals, releases := requireTurns(t, m)
	require.Equal(t, left, steals)
	require.Equal(t, left, releases)
	require.Equal(t, left, strings.Count(harness.ReadText(t, m.LogFile()), gaveBack))
	others, err := filepath.Glob(filepath.Join(m.LockDir, "others.claim.*"))
	require.NoError(t, err)
	require.Len(t, others, 1, "another host's lease")

	m.Unmount()
	m.Mount()
	harness.Eventually(t, "the mount falls asleep", func() bool { return awake(m, time.Second)[0] == 0 })
	each := awake(m, idleWindow(t))
	woken := len(slices.DeleteFunc(slices.Clone(each), func(n uint64) bool { return n == 0 }))
	require.LessOrEqual(t, woken, runtimeSeconds(idleWindow(t)), "%v", each)
}

// gaveBack is what the log says of each.
const gaveBack = "gave back a lease that this host had left"

// saidBeforeIt is what the log says, from a byte on, before the first lease is given back.
func saidBeforeIt(t *testing.T, m *harness.Mount, from int) (said string) {
	t.Helper()
	harness.Eventually(t, "the first one is given back", func() (is bool) {
		said, _, is = strings.Cut(harness.ReadText(t, m.LogFile())[from:], gaveBack)
		return is
	})
	return said
}

// requireTurns counts what the chain tells of the worktrees left*: each is released before the next one is taken.
func requireTurns(t *testing.T, m *harness.Mount) (steals, releases int) {
	t.Helper()
	open := ""
	for text := range strings.Lines(m.MustCLI("audit", "tail", "--json", "-n", "100000", m.Mountpoint)) {
		var l struct {
			Type     string `json:"event_type"`
			Worktree string `json:"worktree_name"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &l), text)
		switch {
		case !strings.HasPrefix(l.Worktree, "left"):
		case l.Type == "lock_steal":
			require.Empty(t, open, "two at a time")
			steals, open = steals+1, l.Worktree
		case l.Type == "lock_release":
			require.Equal(t, open, l.Worktree)
			releases, open = releases+1, ""
		}
	}
	return steals, releases
}
