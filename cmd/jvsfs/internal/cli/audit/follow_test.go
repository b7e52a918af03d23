package audit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/audit"
)

// A chain that grows by halves of lines, is rotated, cut short, and copied to another inode: each record is shown once.
func TestAGrowingAuditChainShowsEachRecordOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var seen []string
	f := &chainFollower{path: path, show: func(r audit.Record) error { seen = append(seen, r.RecordHash); return nil }}
	defer f.close()
	add := func(text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = file.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	line := func(hash string) string { return `{"event_type":"x","record_hash":"` + hash + `"}` + "\n" }
	shows := func(want ...string) {
		t.Helper()
		seen = nil
		require.NoError(t, f.look())
		require.Equal(t, want, seen)
	}
	shows()
	add(line("a") + "no record\n" + line("b"))
	shows("a", "b")
	half := line("c")
	add(half[:9])
	shows()
	add(half[9:])
	shows("c")

	require.NoError(t, os.Rename(path, path+".1"))
	shows()
	old, err := os.OpenFile(path+".1", os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = old.WriteString(line("d"))
	require.NoError(t, err)
	require.NoError(t, old.Close())
	add(line("e"))
	shows("d", "e")

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".new", append(text, line("f")...), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	shows("f") // e is in it, and was shown
	require.NoError(t, os.Truncate(path, 0))
	add(line("g"))
	shows("g")
	require.NoError(t, os.Remove(path))
	shows()
	add(line("h"))
	shows("h")
}

// A line for people has all details, the reason last.
func TestAnAuditLineForPeopleHasAllDetails(t *testing.T) {
	require.Equal(t, "fencing_token=3 operation=Write path=src/x holder=h:u:1:2 auto=true uid=0 reason=because",
		auditSummary(map[string]any{"reason": "because", "uid": 0, "auto": true, "holder_id": "h:u:1:2", "path": "src/x", "operation": "Write", "fencing_token": 3, "purpose": ""}))
}
