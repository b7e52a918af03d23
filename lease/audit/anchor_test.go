package audit

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// anchored is a log in a directory of its own, anchored in a lock directory.
func anchored(t *testing.T) (a *Log, log, locks string) {
	t.Helper()
	base, fd := testDir(t)
	require.NoError(t, os.Mkdir(filepath.Join(base, ".jvs"), 0o755))
	locks, locksFD := testDir(t)
	a, err := Open(fd, []string{".jvs", "audit"}, "audit.jsonl", "audit.jsonl", locksFD)
	require.NoError(t, err)
	t.Cleanup(func() { _ = a.Close() })
	return a, filepath.Join(base, ".jvs", "audit", "audit.jsonl"), locks
}

func appendEvents(t *testing.T, a *Log, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, a.Append(context.Background(), event(i)))
	}
}

// faultsOf verifies the chain as `audit verify` does.
func faultsOf(t *testing.T, log, locks string) []Fault {
	t.Helper()
	x, err := ReadAnchor(locks)
	require.NoError(t, err)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	_, faults, err := Verify(bytes.NewReader(text), &x)
	require.NoError(t, err)
	return faults
}

// Who owns the lock directory can make the anchor a name of another file, before it is made or later. That file is not written to.
func TestTheAuditAnchorIsNotWrittenThroughALink(t *testing.T) {
	for _, later := range []bool{false, true} {
		a, _, locks := anchored(t)
		if later {
			appendEvents(t, a, 1)
			require.NoError(t, os.Remove(filepath.Join(locks, anchorName)))
		}
		other := filepath.Join(t.TempDir(), "other")
		require.NoError(t, os.WriteFile(other, []byte("precious"), 0o600))
		require.NoError(t, os.Link(other, filepath.Join(locks, anchorName)))
		require.ErrorContains(t, a.Append(context.Background(), event(1)), "audit.anchor: it is not a regular file with one name")
		text, err := os.ReadFile(other)
		require.NoError(t, err)
		require.Equal(t, "precious", string(text))
	}
}

// Every change of a chain by others is noticed, at once and after the next event.
func TestTheAuditAnchorTellsEveryChangeByOthers(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(text string, lines []string) string
		seen bool
	}{
		"nothing":           {func(text string, _ []string) string { return text }, false},
		"others appended":   {func(text string, _ []string) string { return text + "\n\n" }, false},
		"the tail is gone":  {func(_ string, l []string) string { return strings.Join(l[:3], "") }, true},
		"half a line":       {func(text string, _ []string) string { return text[:len(text)-9] }, true},
		"all is gone":       {func(string, []string) string { return "" }, true},
		"blank of its size": {func(text string, _ []string) string { return strings.Repeat("\n", len(text)) }, true},
		"the last changed": {func(text string, l []string) string {
			return strings.Join(l[:3], "") + strings.Replace(l[3], "lock_acquire", "lock_acquirE", 1)
		}, true},
		"another chain":     {func(text string, l []string) string { return other(len(l)) }, true},
		"the tail replaced": {func(text string, l []string) string { return strings.Join(l[:3], "") + l[0] + l[1] }, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, log, locks := anchored(t)
			appendEvents(t, a, 4)
			require.Empty(t, faultsOf(t, log, locks))
			text, err := os.ReadFile(log)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(log, []byte(c.do(string(text), strings.SplitAfter(string(text), "\n"))), 0o644))
			require.Equal(t, c.seen, len(faultsOf(t, log, locks)) > 0)
			appendEvents(t, a, 2)
			require.Equal(t, c.seen, len(faultsOf(t, log, locks)) > 0, "after later events")
		})
	}
}

// other is a whole chain of n lines that nobody anchored.
func other(n int) string {
	var b strings.Builder
	last := ""
	for i := range n {
		line, hash, err := chain(event(100+i), last)
		if err != nil {
			panic(err) // made here
		}
		b.Write(line)
		last = hash
	}
	return b.String()
}

// Others, such as JVS, may append to the chain: our next line follows theirs. The anchor stays at our last event.
func TestAuditLinesOfOthersAreFollowed(t *testing.T) {
	a, log, locks := anchored(t)
	appendEvents(t, a, 2)
	x, err := ReadAnchor(locks)
	require.NoError(t, err)
	line, _, err := chain(event(7), x.Hash)
	require.NoError(t, err)
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.Write(line)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Empty(t, faultsOf(t, log, locks))
	appendEvents(t, a, 1)
	require.Empty(t, faultsOf(t, log, locks))
}

// If its writer is killed after the event, the anchor lags until the next event. A torn anchor counts as none.
func TestALaggingOrTornAuditAnchorDoesNotFailTheChain(t *testing.T) {
	for name, spoil := range map[string]func(old []byte) []byte{
		"lags":  func(old []byte) []byte { return old },
		"torn":  func(old []byte) []byte { return old[:20] },
		"empty": func([]byte) []byte { return nil },
		"wild":  func([]byte) []byte { return []byte(`{"begin":0,"size":9223372036854775807,"hash":"x"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			a, log, locks := anchored(t)
			appendEvents(t, a, 1)
			path := filepath.Join(locks, anchorName)
			old, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Len(t, old, anchorSize)
			appendEvents(t, a, 2)
			require.NoError(t, os.WriteFile(path, spoil(old), 0o600))
			if name == "lags" {
				require.Empty(t, faultsOf(t, log, locks))
			}
			appendEvents(t, a, 1)
			require.Empty(t, faultsOf(t, log, locks))
		})
	}
}

// If others append very much, an event reads no more than its reach, and is appended. A short reach makes a short flood of the same
// kind: in each of brackets and records it still has more lines than are tried.
func TestAFloodOfForeignAuditLinesCostsBoundedWork(t *testing.T) {
	for name, unit := range map[string]string{"newlines": "\n", "brackets": "{\n", "one line": "x", "records of nothing": "{\"a\":1}\n"} {
		t.Run(name, func(t *testing.T) {
			a, log, locks := anchored(t)
			a.reach = 8 * maxTries
			appendEvents(t, a, 2)
			f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteString(strings.Repeat(unit, 3*int(a.reach)/len(unit)))
			require.NoError(t, err)
			require.NoError(t, f.Close())
			appendEvents(t, a, 2)
			x, err := ReadAnchor(locks)
			require.NoError(t, err)
			text, err := os.ReadFile(log)
			require.NoError(t, err)
			n, faults, err := Verify(bytes.NewReader(text), &x)
			require.NoError(t, err)
			require.GreaterOrEqual(t, n, 4)
			require.LessOrEqual(t, len(faults), maxFaults)
			for _, fault := range faults {
				require.NotContains(t, fault.Message, "the end is missing")
				require.NotContains(t, fault.Message, "is not in it")
			}
			if name == "newlines" {
				require.Empty(t, faults)
			}
			require.Contains(t, string(text), "no record was found")
		})
	}
}

// The price of the anchor, for each event.
func BenchmarkAppend(b *testing.B) {
	for name, locks := range map[string]bool{"anchored": true, "bare": false} {
		b.Run(name, func(b *testing.B) {
			base := b.TempDir()
			fd, err := unix.Open(base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer unix.Close(fd)
			at := fd
			if !locks {
				at = -1
			}
			a, err := Open(fd, nil, "audit.jsonl", "audit.jsonl", at)
			if err != nil {
				b.Fatal(err)
			}
			defer a.Close()
			for i := 0; b.Loop(); i++ {
				if err := a.Append(context.Background(), event(i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
