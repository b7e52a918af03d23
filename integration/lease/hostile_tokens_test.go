package lease

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// plantHead lets a released claim with the number tok follow the head, as a repository's owner can.
func plantHead(m *harness.Mount, worktree string, tok uint64) string {
	m.T.Helper()
	file, _ := m.HeadClaim(worktree)
	var fields map[string]json.RawMessage
	require.NoError(m.T, json.Unmarshal([]byte(harness.ReadText(m.T, file)), &fields))
	fields["fencing_token"], fields["released"] = json.RawMessage(fmt.Sprint(tok)), json.RawMessage("true")
	text, err := json.Marshal(fields)
	require.NoError(m.T, err)
	name, _, _ := strings.Cut(filepath.Base(file), ".claim.")
	planted := filepath.Join(filepath.Dir(file), fmt.Sprintf("%s.claim.%020d", name, tok))
	require.NoError(m.T, os.WriteFile(planted, text, 0o600))
	return planted
}

// No number that a repository's owner can put into a record makes a handle another kind of handle: either the lease is had
// and lost as any other, or nobody has it and the file is named, with a way out.
func TestAHostileTokenInARecordLetsNobodyWriteWithoutTheLease(t *testing.T) {
	for _, tok := range []uint64{1<<53 - 2, 1 << 60, 1<<63 | 1<<60, 3 << 62, 1<<63 | 1, 1<<64 - 2} {
		t.Run(fmt.Sprintf("%x", tok), func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
			a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
			m.Acquire(a, "main")
			m.Release(a, "main")
			planted := plantHead(m, "main", tok-1)

			exit, errs := m.TryLock("acquire", a, "main")
			if exit == 0 { // below the bound: then it is a token like any other
				a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("main/f"), Flags: unix.O_WRONLY})
				m.Release(a, "main")
				exit, errs = m.TryLock("acquire", b, "main")
				a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
				if exit != 0 {
					require.Contains(t, errs, "used up")
				}
				require.Less(t, tok, uint64(1<<53))
				return
			}
			require.Equal(t, harness.ExitStore, exit, errs)
			require.Contains(t, errs, filepath.Base(planted))
			require.Contains(t, errs, "doctor --repair --force")
			a.Fails(m.Put("main", "x"), "EROFS")

			out, _, _ := m.CLI("doctor", "--repair", "--force", m.At("main"))
			require.Contains(t, out, "moved aside")
			again := m.Acquire(b, "main")
			require.EqualValues(t, 2, again.TokenNumber(t))
			b.OK(m.Put("main", "x"))
			m.Release(b, "main")
		})
	}
}

// A worktree whose name looks like another's temporary files, or like doctor's own, keeps its records whatever is repaired.
func TestRepairKeepsTheRecordsOfEveryName(t *testing.T) {
	names := []string{"main.lock.tmp.evil", ".doctor-1", "x.taint.y"}
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: func(t testing.TB, main string) {
		for _, name := range names {
			require.NoError(t, os.MkdirAll(filepath.Join(main, "..", "worktrees", name), 0o755))
		}
	}})
	a := harness.StartActor(t, "a")
	for _, name := range names {
		m.Acquire(a, "worktrees", name)
		m.Release(a, "worktrees", name)
	}
	old := time.Now().Add(-time.Hour)
	records, err := filepath.Glob(filepath.Join(m.LockDir, "*"))
	require.NoError(t, err)
	hidden, err := filepath.Glob(filepath.Join(m.LockDir, ".*"))
	require.NoError(t, err)
	for _, file := range append(records, hidden...) {
		require.NoError(t, os.Chtimes(file, old, old))
	}
	out, _, _ := m.CLI("doctor", "--repair", m.At("main"))
	require.NotContains(t, out, "left of", "records are no leftovers")
	require.NotContains(t, out, "then remove", "records are no taints")
	for _, file := range append(records, hidden...) {
		require.FileExists(t, file)
	}
	for _, name := range names {
		require.EqualValues(t, 2, m.Acquire(a, "worktrees", name).TokenNumber(t))
		m.Release(a, "worktrees", name)
	}
}
