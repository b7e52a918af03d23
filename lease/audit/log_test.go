package audit

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testDir(t *testing.T) (dir string, fd int) {
	t.Helper()
	dir = t.TempDir()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	return dir, fd
}

func openIn(t *testing.T, fd int) *Log {
	t.Helper()
	a, err := Open(fd, nil, "audit.jsonl", "audit.jsonl", -1)
	require.NoError(t, err)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func event(n int) Record {
	return Record{Timestamp: time.Unix(int64(n), 0), EventType: "lock_acquire", Worktree: "main",
		Details: map[string]any{"fencing_token": n, "reason": "a<b & \"c\""}}
}

func verifyFile(t *testing.T, dir string) (int, []Fault) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	require.NoError(t, err)
	n, faults, err := Verify(bytes.NewReader(b), nil)
	require.NoError(t, err)
	return n, faults
}

// The hash was computed by hand: SHA-256 of the canonical JSON with an empty record_hash.
func TestAuditHashIsThatOfTheFormat(t *testing.T) {
	hash, err := lineHash([]byte(`{"prev_hash":"","event_type":"x","timestamp":"2024-01-01T00:00:00Z","record_hash":"whatever"}`))
	require.NoError(t, err)
	// printf '%s' '{"event_type":"x","prev_hash":"","record_hash":"","timestamp":"2024-01-01T00:00:00Z"}' | sha256sum
	require.Equal(t, "d577fd4dd087cb427372c92a6e565a4318978cb52abda40cee4cbf3347816000", hash)
}

func TestManyAppendersKeepOneChain(t *testing.T) {
	dir, fd := testDir(t)
	var wg sync.WaitGroup
	for i := range 4 {
		a := openIn(t, fd) // descriptors of their own, as other processes have
		wg.Go(func() {
			for j := range 25 {
				err := a.Append(context.Background(), event(i*100+j))
				for errors.Is(err, ErrLocked) { // a slow disk may keep the others for longer than one waits
					err = a.Append(context.Background(), event(i*100+j))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	n, faults := verifyFile(t, dir)
	require.Equal(t, 100, n)
	require.Empty(t, faults)
}

func TestVerifyNoticesEveryChange(t *testing.T) {
	dir, fd := testDir(t)
	a := openIn(t, fd)
	for i := range 4 {
		require.NoError(t, a.Append(context.Background(), event(i)))
	}
	path := filepath.Join(dir, "audit.jsonl")
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(good), "\n")[:4]
	for name, bad := range map[string]string{
		"changed":    strings.Replace(string(good), `"fencing_token":2`, `"fencing_token":9`, 1),
		"taken out":  lines[0] + lines[2] + lines[3],
		"swapped":    lines[0] + lines[2] + lines[1] + lines[3],
		"garbage":    lines[0] + "not json\n" + lines[1],
		"torn":       lines[0] + lines[1][:len(lines[1])-1],
		"first gone": lines[1] + lines[2],
	} {
		_, faults, err := Verify(strings.NewReader(bad), nil)
		require.NoError(t, err)
		require.NotEmpty(t, faults, name)
	}
}

func TestAppendGoesOnAfterATornLine(t *testing.T) {
	dir, fd := testDir(t)
	a := openIn(t, fd)
	require.NoError(t, a.Append(context.Background(), event(1)))
	path := filepath.Join(dir, "audit.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"torn`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, a.Append(context.Background(), event(2)))
	n, faults := verifyFile(t, dir)
	require.Equal(t, 2, n)
	require.Len(t, faults, 1)
	require.Equal(t, 2, faults[0].Line)
}

func TestAppendFollowsARotation(t *testing.T) {
	dir, fd := testDir(t)
	a := openIn(t, fd)
	require.NoError(t, a.Append(context.Background(), event(1)))
	require.NoError(t, os.Rename(filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "old")))
	require.NoError(t, a.Append(context.Background(), event(2)))
	n, faults := verifyFile(t, dir)
	require.Equal(t, 1, n)
	require.Empty(t, faults)
}

// A directory that others can write must not make a root daemon write elsewhere.
func TestAppendRefusesHostileFiles(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"symlink":   func(p string) error { return os.Symlink("/dev/null", p) },
		"fifo":      func(p string) error { return unix.Mkfifo(p, 0o666) },
		"directory": func(p string) error { return os.Mkdir(p, 0o777) },
		"hard link": func(p string) error {
			if err := os.WriteFile(p+".other", nil, 0o666); err != nil {
				return err
			}
			return os.Link(p+".other", p)
		},
	} {
		dir, fd := testDir(t)
		require.NoError(t, plant(filepath.Join(dir, "audit.jsonl")))
		err := openIn(t, fd).Append(context.Background(), event(1))
		require.Equal(t, record.ClassAuditFailed, record.ClassOf(err), name)
		require.Contains(t, err.Error(), "audit.jsonl", name)
	}
}

func FuzzVerify(f *testing.F) {
	line, _, err := chain(event(1), "")
	require.NoError(f, err)
	f.Add(line)
	f.Add([]byte("{}\n{\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, faults, err := Verify(bytes.NewReader(b), nil)
		if err == nil && n == 0 && len(faults) == 0 && len(bytes.TrimSpace(b)) > 0 {
			t.Fatalf("%q is neither records nor faults", b)
		}
	})
}

// AppendAll writes the same lines as several Appends. The anchor is that of the last one.
func TestAppendAllWritesTheSameLinesAsSeveralAppends(t *testing.T) {
	a, log, locks := anchored(t)
	all := make([]Record, 5)
	for i := range all {
		all[i] = event(i)
	}
	require.NoError(t, a.AppendAll(context.Background(), nil))
	require.NoError(t, a.AppendAll(context.Background(), all))
	whole, err := os.ReadFile(log)
	require.NoError(t, err)
	anchor, err := ReadAnchor(locks)
	require.NoError(t, err)
	require.Empty(t, anchor.missing(bytes.NewReader(whole), int64(len(whole))), "the last of them is anchored")
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"torn`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, a.AppendAll(context.Background(), all[:2]))
	appendEvents(t, a, 1)
	b, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, 8, strings.Count(string(b), `"event_type"`))
	x, err := ReadAnchor(locks)
	require.NoError(t, err)
	require.EqualValues(t, len(b), x.Size)
	require.Empty(t, x.missing(bytes.NewReader(b), int64(len(b))))
	require.Len(t, faultsOf(t, log, locks), 1, "the torn line alone")
}
