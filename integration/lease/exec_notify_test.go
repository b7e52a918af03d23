package lease

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// notified is a line that a test's --notify has written: the number of refusals, and the latest.
type notified struct {
	count int
	event struct {
		Event, Mountpoint, Path string
		Refusal                 struct {
			Command, Op, Class string
		}
	}
}

// notifying is a line of shell for --notify that writes what it is told into a file.
func notifying(file string) string {
	return `echo "$JVSFS_EVENTS $JVSFS_EVENT" >>` + file
}

func notifiedIn(t *testing.T, file string) (all []notified) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		count, event, _ := strings.Cut(line, " ")
		var n notified
		n.count, err = strconv.Atoi(count)
		require.NoError(t, err, line)
		if !strings.HasSuffix(line, "\n") {
			break // it is just being written
		}
		require.NoError(t, json.Unmarshal([]byte(event), &n.event), line)
		all = append(all, n)
	}
	return all
}

// exec --notify runs a line of shell when its command is refused a write: with the refusal, beside the command, not
// under its lease, and once for many.
func TestExecNotifyRunsItsLineWhenAWriteIsRefused(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	b := harness.StartActor(t, "b")
	m.Acquire(b, "worktrees", "b")
	mail := harness.NewMail(m)
	gate, end, file := mail.Gate("go"), mail.Gate("end"), filepath.Join(mail.Dir, "notified") // one each: a gate may still be open for who comes again
	line := notifying(file) + "; echo x 2>/dev/null >" + m.At("main", "beside") + "; " + mail.Tell("beside") + "; echo told; exit 3"
	x := m.Start(m.Bin, "exec", "--notify", line, m.At("main"), "--", "sh", "-c",
		"for n in 1 2 3; do touch "+m.At("worktrees", "b")+"/$n; done; read go <"+gate+"; touch "+m.At("worktrees", "b")+"/4; read go <"+end)
	harness.Eventually(t, "it is run", func() bool { return len(notifiedIn(t, file)) > 0 })
	require.Equal(t, "2", mail.Take("beside"), "the line does not hold the lease of the command")
	first := notifiedIn(t, file)[0]
	require.Equal(t, "refused", first.event.Event)
	require.Equal(t, m.Mountpoint, first.event.Mountpoint)
	require.Equal(t, m.At("worktrees", "b"), first.event.Path)
	require.Equal(t, "touch", first.event.Refusal.Command)
	require.Equal(t, "E_LOCK_CONFLICT", first.event.Refusal.Class)
	total := func() (n int) {
		for _, one := range notifiedIn(t, file) {
			n += one.count
		}
		return n
	}
	harness.Eventually(t, "all three are told", func() bool { return total() == 3 })
	mail.Open("go")
	harness.Eventually(t, "the fourth is told", func() bool { return total() == 4 })
	harness.Eventually(t, "what the line says is shown", func() bool { return strings.Count(harness.ReadText(t, x.File), "told\n") >= 2 })
	mail.Open("end")
	_, said := x.Wait()
	require.Equal(t, 1, strings.Count(said, "--notify failed"), said)
	require.Contains(t, said, "exit status 3")
}

// exec does not wait for the line at its end; what was refused last is told nevertheless, and what others are
// refused is not.
func TestExecDoesNotWaitForItsNotifyLine(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	b, c := harness.StartActor(t, "b"), harness.StartActor(t, "c")
	m.Acquire(b, "worktrees", "b")
	mail := harness.NewMail(m)
	gate, file := mail.Gate("go"), filepath.Join(mail.Dir, "notified")
	c.Fails(m.Put("worktrees", "b", "other"), "EROFS")
	_, errs, exit := m.CLI("exec", "--notify", "read go <"+gate+"; "+notifying(file), m.At("main"), "--", "touch", m.At("worktrees", "b", "x"))
	require.Equal(t, 1, exit, errs)
	require.Contains(t, errs, "1 write of touch was refused")
	require.Empty(t, notifiedIn(t, file))
	mail.Open("go")
	harness.Eventually(t, "it is told", func() bool { return len(notifiedIn(t, file)) == 1 })
	require.Equal(t, 1, notifiedIn(t, file)[0].count)

	quiet := filepath.Join(mail.Dir, "quiet")
	_, errs, exit = m.CLI("exec", "--notify", notifying(quiet), m.At("main"), "--", "touch", m.At("main", "x"))
	require.Zero(t, exit, errs)
	harness.Eventually(t, "the notifiers end", func() bool {
		for _, pid := range harness.ProcessesOf(m.Bin) {
			if line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil && strings.Contains(string(line), "exec-notifier") {
				return false
			}
		}
		return true
	})
	require.Empty(t, notifiedIn(t, quiet), "nothing was refused")
}
