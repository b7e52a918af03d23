package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// reopened is what a journal's file says to the next process.
func reopened(t *testing.T, path string) (texts []string) {
	t.Helper()
	next := journal{path: path}
	all, err := next.all()
	require.NoError(t, err)
	for _, text := range all {
		texts = append(texts, string(text))
	}
	slices.Sort(texts)
	return texts
}

func openJournal(t *testing.T) (*journal, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	j := &journal{path: path}
	t.Cleanup(func() { _ = j.close() })
	return j, path
}

// One goes on with the journal of another, which takes it back.
func TestTwoDaemonsNeverWriteToOneJournal(t *testing.T) {
	one, path := openJournal(t)
	require.NoError(t, one.put("a", []byte(`1`)))
	require.NoError(t, one.put("b", []byte(`2`)))
	other := &journal{path: path}
	_, err := other.all()
	require.NoError(t, err)
	require.NoError(t, other.put("a", []byte(`3`)))
	require.Equal(t, []string{`2`, `3`}, reopened(t, path))
	require.NoError(t, other.close())
	require.NoError(t, one.drop("b"))
	require.NoError(t, one.put("c", []byte(`4`)))
	require.Equal(t, []string{`1`, `4`}, reopened(t, path), "what it knows itself, and not what the other has added")
}

func TestTheLastLineOfAKeyCounts(t *testing.T) {
	j, path := openJournal(t)
	require.NoError(t, j.put("a", []byte(`1`)))
	require.NoError(t, j.put("b", []byte(`2`)))
	require.NoError(t, j.put("a", []byte(`3`)))
	require.NoError(t, j.drop("b"))
	require.NoError(t, j.drop("never there"))
	require.Equal(t, []string{`3`}, reopened(t, path))
}

func TestATornLineSaysNothing(t *testing.T) {
	j, path := openJournal(t)
	require.NoError(t, j.put("a", []byte(`1`)))
	require.NoError(t, j.put("b", []byte(`2`)))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	raw = bytes.TrimRight(raw, "\x00")
	for cut := 1; cut < len(raw)/2; cut++ {
		require.NoError(t, os.WriteFile(path, raw[:len(raw)-cut], 0o600))
		require.Equal(t, []string{`1`}, reopened(t, path), "cut by %d", cut)
		next := journal{path: path}
		_, err := next.all()
		require.NoError(t, err)
		require.NoError(t, next.put("c", []byte(`3`)))
		require.NoError(t, next.close())
		require.Equal(t, []string{`1`, `3`}, reopened(t, path), "a line behind the torn one, cut by %d", cut)
	}
	for cut := 1; cut < len(raw)/2; cut++ { // a kill in the middle of the copy: what follows was not there yet, or what is in front of it
		early, late := bytes.Clone(raw), bytes.Clone(raw)
		clear(early[len(raw)-cut:])
		clear(late[len(raw)/2+1 : len(raw)/2+1+cut])
		for _, torn := range [][]byte{early, late} {
			require.NoError(t, os.WriteFile(path, append(torn, make([]byte, 4096)...), 0o600))
			require.Equal(t, []string{`1`}, reopened(t, path), "torn by %d", cut)
		}
	}
	for i := len(recordsOwned); i < len(raw)/2; i++ { // of the first entry
		bad := slices.Clone(raw)
		bad[i] ^= 1
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		require.Contains(t, [][]string{{`2`}, nil}, reopened(t, path), "byte %d is wrong", i)
	}
}

func TestAJournalStaysSmall(t *testing.T) {
	j, path := openJournal(t)
	const rounds = 4000 // of long values: they fill the journal some times
	value := func(i int) string { return fmt.Sprintf(`"%200d"`, i) }
	require.Greater(t, rounds*2*len(value(0)), 3*journalRoom)
	for i := range rounds {
		require.NoError(t, j.put("key", []byte(value(i))))
		require.NoError(t, j.put("other", []byte(value(-i-1))))
		require.NoError(t, j.drop("other"))
	}
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, st.Size(), int64(2*journalRoom))
	require.Equal(t, []string{value(rounds - 1)}, reopened(t, path))
}

func TestAnEmptyJournalIsRemoved(t *testing.T) {
	j, path := openJournal(t)
	require.NoError(t, j.put("a", []byte(`1`)))
	require.NoError(t, j.drop("a"))
	require.NoError(t, j.close())
	require.NoFileExists(t, path)
}

// Who puts its own file in the place of one says so in it. If it then ends before it has done so, the other goes on.
func TestAJournalThatWasTakenIsWrittenAnew(t *testing.T) {
	j, path := openJournal(t)
	require.NoError(t, j.put("a", []byte(`1`)))
	require.NoError(t, takeRecords(path))
	require.Equal(t, []string{`1`}, reopened(t, path))
	before, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, j.put("b", []byte(`2`)))
	require.Equal(t, []string{`1`, `2`}, reopened(t, path))
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after))
}

// A file that somebody has cut is no end of the process.
func TestAJournalThatWasCutIsWrittenAnew(t *testing.T) {
	j, path := openJournal(t)
	require.NoError(t, j.put("a", []byte(`1`)))
	require.NoError(t, os.Truncate(path, 0))
	require.NoError(t, j.put("b", []byte(`2`)))
	require.Equal(t, []string{`1`, `2`}, reopened(t, path))
}

// A full disk is an error, which says what is full, and not a signal at a later store. What was kept stays.
func TestAFullDiskIsAnErrorOfTheJournalAndNoSignal(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1200k"); err != nil {
		t.Skip("it takes root:", err)
	}
	j := &journal{path: filepath.Join(dir, "journal")}
	t.Cleanup(func() { require.NoError(t, j.close()); require.NoError(t, unix.Unmount(dir, 0)) })
	require.NoError(t, j.put("a", []byte(`1`)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), make([]byte, 384<<10), 0o600))
	full := error(nil)
	for i := 0; full == nil && i < 2*journalRoom; i++ {
		full = j.put("b", []byte(`2`))
	}
	require.ErrorIs(t, full, unix.ENOSPC)
	require.ErrorContains(t, full, "no room for the journal of locks")
	require.Equal(t, []string{`1`, `2`}, reopened(t, j.path))
	require.NoError(t, os.Remove(filepath.Join(dir, "other")))
	require.NoError(t, j.put("b", []byte(`3`)))
	require.Equal(t, []string{`1`, `3`}, reopened(t, j.path))
	require.NoError(t, j.drop("a"))
	require.NoError(t, j.drop("b"))
}

// So it is if the first line was left.
func TestAJournalThatWasCutBehindItsFirstLineIsWrittenAnew(t *testing.T) {
	j, path := openJournal(t)
	long := fmt.Appendf(nil, "%q", bytes.Repeat([]byte("1"), 2*os.Getpagesize()))
	require.NoError(t, j.put("a", long))
	require.NoError(t, os.Truncate(path, int64(os.Getpagesize())))
	require.NoError(t, j.put("b", []byte(`2`)))
	require.Equal(t, []string{string(long), `2`}, reopened(t, path))
}

// The memory of a closed file is not its any more.
func TestAClosedJournalWritesToNoMemory(t *testing.T) {
	j, path := openJournal(t)
	require.NoError(t, j.put("a", []byte(`1`)))
	require.NoError(t, j.close())
	require.True(t, j.file == nil) // to print it would read that memory
	require.NoError(t, j.close())
	require.NoError(t, j.put("b", []byte(`2`)))
	require.Equal(t, []string{`1`, `2`}, reopened(t, path))
}
