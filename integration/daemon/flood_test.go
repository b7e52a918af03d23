package daemon

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// floodSize is a loop that somebody forgot.
const floodSize = 100_000

// Somebody is refused a hundred thousand times. The log and the audit chain stay small,
// each says how many it left out, and no refusal is missing in the numbers.
func TestAFloodOfRefusalsKeepsLogAndAuditSmallAndCountsEach(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	m.Opts.Extra = []string{"--metrics", "127.0.0.1:0"}
	m.Mount()
	m.Acquire(harness.StartActor(t, "holder"), "main")
	path := m.At("main", "f")
	begun := time.Now()
	for range floodSize {
		_, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		require.Equal(t, unix.EROFS, err)
	}
	now := scrape(m)
	require.EqualValues(t, floodSize, now.sum("jvsfs_refusals_total", `operation="Open"`, `worktree="main"`))
	require.GreaterOrEqual(t, now.sum("jvsfs_log_lines_suppressed_total"), float64(floodSize-logLines(begun)))

	counted := 0.0
	audited := func() (lines int) {
		counted = 0
		for _, l := range m.AuditTail(m.At("main")) {
			if l.Type == "write_refused" {
				counted += l.Details["count"].(float64)
				lines++
			}
		}
		return lines
	}
	require.LessOrEqual(t, audited(), 3+minutes(begun))
	m.Unmount()
	harness.Eventually(t, "the daemon ends", func() bool { return len(m.Daemons()) == 0 })
	require.LessOrEqual(t, audited(), 4+minutes(begun))
	require.EqualValues(t, floodSize, counted, "the last line has what was left")
	expectSmallLog(m, begun)
}

// minutes are those since begun: the audit chain gets a line of each.
func minutes(begun time.Time) int { return int(time.Since(begun) / time.Minute) }

// logLines is what the log may say of one sentence since begun: a hundred lines alike in
// each minute, and one about those left out. A slow machine is flooded for longer.
func logLines(begun time.Time) int { return (minutes(begun) + 2) * 101 }

// expectSmallLog adds up what the log tells and what it says it has left out.
func expectSmallLog(m *harness.Mount, begun time.Time) {
	m.T.Helper()
	told, suppressed, all := 0, 0, 0
	for text := range strings.Lines(harness.ReadText(m.T, m.LogFile())) {
		all++
		var line struct {
			Msg, Line  string
			Suppressed int
		}
		require.NoError(m.T, json.Unmarshal([]byte(text), &line), text)
		switch {
		case line.Msg == "refused":
			told++
		case line.Msg == "log lines suppressed" && line.Line == "refused":
			suppressed += line.Suppressed
		}
	}
	require.Less(m.T, all, 100+logLines(begun), "lines")
	require.Equal(m.T, floodSize, told+suppressed)
}

// The log for people.
func TestTheTextLogIsForPeople(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f"), Extra: []string{"--log-format", "text"}})
	harness.StartActor(t, "a").Fails(m.Put("f"), "EROFS")
	m.Unmount()
	text := harness.ReadText(t, m.LogFile())
	require.Regexp(t, `(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\S* INFO serving source=`, text)
	require.Regexp(t, `(?m)^\S+ INFO refused worktree=\S+ op=\w+ class=E_LOCK_NOT_HELD why="nobody holds`, text)
}

func TestLogLevelLeavesOutLesserLines(t *testing.T) {
	quiet := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f"), Extra: []string{"--log-level", "error"}})
	harness.StartActor(t, "b").Fails(quiet.Put("f"), "EROFS")
	quiet.Unmount()
	require.Empty(t, harness.ReadText(t, quiet.LogFile()))
}
