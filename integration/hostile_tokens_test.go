package integration

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
)

// plantHead lets a released claim with the number tok follow the head, as a repository's owner can.
func (m *mount) plantHead(worktree string, tok uint64) string {
	m.t.Helper()
	file, _ := m.headClaim(worktree)
	var fields map[string]json.RawMessage
	require.NoError(m.t, json.Unmarshal([]byte(readText(m.t, file)), &fields))
	fields["fencing_token"], fields["released"] = json.RawMessage(fmt.Sprint(tok)), json.RawMessage("true")
	text, err := json.Marshal(fields)
	require.NoError(m.t, err)
	name, _, _ := strings.Cut(filepath.Base(file), ".claim.")
	planted := filepath.Join(filepath.Dir(file), fmt.Sprintf("%s.claim.%020d", name, tok))
	require.NoError(m.t, os.WriteFile(planted, text, 0o600))
	return planted
}

// No number that a repository's owner can put into a record makes a handle another kind of handle: either the lease is had
// and lost as any other, or nobody has it and the file is named, with a way out.
func TestATokenIsNothingElse(t *testing.T) {
	for _, tok := range []uint64{1<<53 - 2, 1 << 60, 1<<63 | 1<<60, 3 << 62, 1<<63 | 1, 1<<64 - 2} {
		t.Run(fmt.Sprintf("%x", tok), func(t *testing.T) {
			m := newMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", prepare: withFiles("f")})
			a, b := startActor(t, "a"), startActor(t, "b")
			m.acquire(a, "main")
			m.release(a, "main")
			planted := m.plantHead("main", tok-1)

			exit, errs := m.tryLock("acquire", a, "main")
			if exit == 0 { // below the bound: then it is a token like any other
				a.ok(command{Op: "open", Handle: "f", Path: m.At("main/f"), Flags: unix.O_WRONLY})
				m.release(a, "main")
				exit, errs = m.tryLock("acquire", b, "main")
				a.fails(command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
				if exit != 0 {
					require.Contains(t, errs, "used up")
				}
				require.Less(t, tok, uint64(1<<53))
				return
			}
			require.Equal(t, exitStore, exit, errs)
			require.Contains(t, errs, filepath.Base(planted))
			require.Contains(t, errs, "doctor --repair --force")
			a.fails(m.put("main", "x"), "EROFS")

			out, _, _ := m.CLI("doctor", "--repair", "--force", m.At("main"))
			require.Contains(t, out, "moved aside")
			again := m.acquire(b, "main")
			require.EqualValues(t, 2, again.token(t))
			b.ok(m.put("main", "x"))
			m.release(b, "main")
		})
	}
}

// A worktree whose name looks like another's temporary files, or like doctor's own, keeps its records whatever is repaired.
func TestRepairKeepsTheRecordsOfEveryName(t *testing.T) {
	names := []string{"main.lock.tmp.evil", ".doctor-1", "x.taint.y"}
	m := newMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", prepare: func(t testing.TB, main string) {
		for _, name := range names {
			require.NoError(t, os.MkdirAll(filepath.Join(main, "..", "worktrees", name), 0o755))
		}
	}})
	a := startActor(t, "a")
	for _, name := range names {
		m.acquire(a, "worktrees", name)
		m.release(a, "worktrees", name)
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
		require.EqualValues(t, 2, m.acquire(a, "worktrees", name).token(t))
		m.release(a, "worktrees", name)
	}
}
