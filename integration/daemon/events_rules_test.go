package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// watch tells what becomes of the lock files of rules; each that is taken and released only with --locks.
func TestWatchTellsOfLocksOfRules(t *testing.T) {
	m := seenMount(t)
	plain := watch(m, "0")
	traffic := watcher{m.Start(m.Bin, "watch", "--json", "--locks", m.Mountpoint), m}
	text := m.Start(m.Bin, "watch", "--locks", m.Mountpoint)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	lock := m.At("repos", "a", ".lock")
	harness.Eventually(t, "the taking of a lock is told", func() bool { // once watch asks
		require.Empty(t, takes(a, lock).Errno)
		require.Empty(t, a.Do(harness.Command{Op: "unlink", Path: lock}).Errno)
		said := harness.ReadText(t, text.File)
		return strings.Contains(said, "rule released") && strings.Contains(harness.ReadText(t, traffic.File), "rule_released")
	})
	require.Contains(t, harness.ReadText(t, text.File), lock+"  agency{repo=a}  tenure ")
	require.Empty(t, takes(a, lock).Errno)
	m.MustCLI("rules", "break", "--yes", lock)
	require.Empty(t, takes(b, lock).Errno)
	b.End()
	plain.tells("that the holder has ended", kind("rule_holder_gone"))
	m.MustCLI("rules", "break", "--yes", lock)
	require.Empty(t, takes(a, lock).Errno)
	behind := filepath.Join(m.Source, "repos", "a", ".lock")
	require.NoError(t, os.Rename(behind, behind+".aside"))
	require.NoError(t, os.WriteFile(behind, nil, 0o644)) // another file, past the mount
	require.Equal(t, "EROFS", harness.StartActor(t, "c").Do(harness.Command{Op: "unlink", Path: lock}).Errno)
	plain.tells("that it was changed past the mount", kind("rule_lock_bypassed"))
	m.MustCLI("rules", "open", "--yes", m.At("sealed", "x"), "--", "true")
	closed := plain.tells("that a window has ended", kind("window_closed"))
	require.Equal(t, m.At("sealed", "x"), closed.Path)
	require.Contains(t, []string{"closed", "holder_ended"}, closed.Reason)

	broken := plain.tells("who was robbed", kind("rule_broken"))
	require.Equal(t, a.PID(), broken.Holder.PID)
	require.Equal(t, lock, broken.Path)
	require.Equal(t, "agency{repo=a}", broken.Lock.ID)
	require.NotZero(t, broken.Lock.Tenure)
	require.NotZero(t, broken.Seq)
	opened := plain.tells("that a window was opened", kind("window_opened"))
	require.Equal(t, []string{"sealed"}, opened.Window.Rules)
	require.Equal(t, opened.Window.Window, closed.Window.Window)
	for _, e := range plain.all() {
		require.NotContains(t, []string{"rule_taken", "rule_released"}, e.Event)
	}
	taken := traffic.tells("who took the lock", kind("rule_taken"))
	require.Equal(t, []any{a.PID(), "repos/a/.lock", uint64(0)}, []any{taken.Holder.PID, taken.Lock.Lock, taken.Seq})
	traffic.tells("the rest, too", kind("window_closed"))
}
