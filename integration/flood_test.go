package integration

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// floodSize is a loop that somebody forgot.
const floodSize = 100_000

// Somebody is refused a hundred thousand times. The log and the audit chain stay small,
// each says how many it left out, and no refusal is missing in the numbers.
func TestFloodOfRefusals(t *testing.T) {
	m := prepareMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", prepare: withFiles("f")})
	m.opts.extra = []string{"--metrics", "127.0.0.1:0"}
	m.mount()
	m.acquire(startActor(t, "holder"), "main")
	path := m.At("main", "f")
	for range floodSize {
		_, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		require.Equal(t, unix.EROFS, err)
	}
	now := m.scrape()
	require.EqualValues(t, floodSize, now.sum("jvsfs_refusals_total", `operation="Open"`, `worktree="main"`))
	require.GreaterOrEqual(t, now.sum("jvsfs_log_lines_suppressed_total"), floodSize*0.99)

	counted := 0.0
	audited := func() (lines int) {
		counted = 0
		for _, l := range m.auditTail(m.At("main")) {
			if l.Type == "write_refused" {
				counted += l.Details["count"].(float64)
				lines++
			}
		}
		return lines
	}
	require.LessOrEqual(t, audited(), 3)
	m.unmount()
	eventually(t, "the daemon ends", func() bool { return len(m.daemons()) == 0 })
	require.LessOrEqual(t, audited(), 4)
	require.EqualValues(t, floodSize, counted, "the last line has what was left")
	m.expectSmallLog()
}

// expectSmallLog adds up what the log tells and what it says it has left out.
func (m *mount) expectSmallLog() {
	m.t.Helper()
	told, suppressed, all := 0, 0, 0
	for text := range strings.Lines(readText(m.t, m.logFile())) {
		all++
		var line struct {
			Msg, Line  string
			Suppressed int
		}
		require.NoError(m.t, json.Unmarshal([]byte(text), &line), text)
		switch {
		case line.Msg == "refused":
			told++
		case line.Msg == "log lines suppressed" && line.Line == "refused":
			suppressed += line.Suppressed
		}
	}
	require.Less(m.t, all, 600, "lines")
	require.Equal(m.t, floodSize, told+suppressed)
}

// The log for people.
func TestLogForPeople(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f"), extra: []string{"--log-format", "text"}})
	startActor(t, "a").fails(m.put("f"), "EROFS")
	m.unmount()
	text := readText(t, m.logFile())
	require.Regexp(t, `(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\S* INFO serving source=`, text)
	require.Regexp(t, `(?m)^\S+ INFO refused worktree=\S+ op=\w+ class=E_LOCK_NOT_HELD why="nobody holds`, text)
}

func TestLogLevel(t *testing.T) {
	quiet := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f"), extra: []string{"--log-level", "error"}})
	startActor(t, "b").fails(quiet.put("f"), "EROFS")
	quiet.unmount()
	require.Empty(t, readText(t, quiet.logFile()))
}
