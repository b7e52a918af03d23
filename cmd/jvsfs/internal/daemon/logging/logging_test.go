package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/mountcfg"
)

func textLine(t *testing.T, journal bool, level zapcore.Level, message string, fields ...zap.Field) string {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	line, err := newTextEncoder(journal).EncodeEntry(zapcore.Entry{Level: level, Time: at, Message: message}, fields)
	require.NoError(t, err)
	return line.String()
}

func TestTextLog(t *testing.T) {
	require.Equal(t, "2026-01-02T03:04:05.006Z INFO serving source=/srv/repo token=4 unclean=false took=1.5s\n",
		textLine(t, false, zap.InfoLevel, "serving", zap.String("source", "/srv/repo"), zap.Uint64("token", 4), zap.Bool("unclean", false), zap.Duration("took", 1500*time.Millisecond)))
	require.Equal(t, "<3>audit error=\"no space\"\n", textLine(t, true, zap.ErrorLevel, "audit", zap.Error(errors.New("no space"))))
	require.Equal(t, "<4>ended\n", textLine(t, true, zap.WarnLevel, "ended", zap.Error(nil)))
}

// Whatever is put into a line, it stays one line without control characters.
func TestTextLogIsOneLine(t *testing.T) {
	line := textLine(t, false, zap.InfoLevel, "x\n\x1b[2J", zap.String("path\n", "a\nb\x1b]0;x\a"), zap.String("empty", ""), zap.String("pair", "a=b"), zap.Stack("stack"))
	require.Equal(t, 1, strings.Count(line, "\n"))
	require.NotContains(t, line, "\x1b")
	require.Contains(t, line, `empty="" pair="a=b"`)
	require.Contains(t, line, `"a\nb\x1b]0;x\a"`)
}

func TestLogLevelAndFormat(t *testing.T) {
	cfg := mountcfg.Default()
	cfg.LogLevel = "warn"
	file, err := os.CreateTemp(t.TempDir(), "log")
	require.NoError(t, err)
	defer file.Close()
	log, err := New(cfg, file, NewSuppressed())
	require.NoError(t, err)
	log.Info("left out")
	log.Warn("told", zap.Int("n", 1))
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	var line struct {
		Level, Msg string
		N          int
	}
	require.NoError(t, json.Unmarshal(text, &line), "one line of JSON: %s", text)
	require.Equal(t, "warn", line.Level)
	require.Equal(t, "told", line.Msg)
}

func TestJournalIsRecognised(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "log")
	require.NoError(t, err)
	defer file.Close()
	require.False(t, isJournal(file))
	t.Setenv("JOURNAL_STREAM", deviceAndInode(t, file))
	require.True(t, isJournal(file))
	require.False(t, isJournal(os.Stdin), "another stream")
}

// A hundred alike are written, the rest is counted and said; another sentence is
// not held back by them.
func TestLogFloodIsBoundedAndCounted(t *testing.T) {
	cfg := mountcfg.Default()
	cfg.LogFormat = "text"
	file, err := os.CreateTemp(t.TempDir(), "log")
	require.NoError(t, err)
	defer file.Close()
	left := NewSuppressed()
	log, err := New(cfg, file, left)
	require.NoError(t, err)
	for range 10_000 {
		log.Info("refused")
	}
	log.Info("another")
	require.EqualValues(t, 10_000-burst, left.Count())
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	left.Run(ended, log)
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.Equal(t, burst+2, bytes.Count(text, []byte("\n")))
	require.Contains(t, string(text), "INFO another\n")
	require.Contains(t, string(text), "WARN log lines suppressed line=refused suppressed=9900\n")
}

// Sentences that nobody has foreseen do not cost memory without end.
func TestSuppressedSentencesAreBounded(t *testing.T) {
	left := NewSuppressed()
	for i := range 1000 {
		left.note(zapcore.Entry{Message: strings.Repeat("x", i)}, zapcore.LogDropped)
		left.note(zapcore.Entry{Message: "kept"}, zapcore.LogSampled)
	}
	require.EqualValues(t, 1000, left.Count())
	require.Len(t, left.lines, suppressedLines+1)
	require.EqualValues(t, 1000-suppressedLines, left.lines[otherLines])
	var none *Suppressed
	require.Zero(t, none.Count())
	none.Run(context.Background(), zap.NewNop())
}

func deviceAndInode(t *testing.T, f *os.File) string {
	t.Helper()
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &st))
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// A path may be much longer than a name, and each has a log of its own.
func TestLogNameOfALongPath(t *testing.T) {
	long := "/srv/" + strings.Repeat("n", 255)
	seen := map[string]bool{}
	for _, source := range []string{long, long + "/a", long + "/" + strings.Repeat("m", 255), "/other/" + strings.Repeat("n", 255)} {
		name := logName(source)
		require.Less(t, len(name), 255)
		require.False(t, seen[name], name)
		seen[name] = true
	}
	require.Equal(t, "srv-repo.log", logName("/srv/repo"))
}
