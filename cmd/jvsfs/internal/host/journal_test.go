package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// reopened is what a journal's file says to the next process.
func reopened(t *testing.T, path string) (texts []string) {
	t.Helper()
	var j journal
	require.NoError(t, j.open(path))
	for _, text := range j.all() {
		texts = append(texts, string(text))
	}
	require.NoError(t, j.file.Close())
	slices.Sort(texts)
	return texts
}

func openJournal(t *testing.T) (*journal, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal")
	j := new(journal)
	require.NoError(t, j.open(path))
	t.Cleanup(func() { _ = j.file.Close() })
	return j, path
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
	for cut := 1; cut < len(raw)/2; cut++ {
		require.NoError(t, os.WriteFile(path, raw[:len(raw)-cut], 0o600))
		require.Equal(t, []string{`1`}, reopened(t, path), "cut by %d", cut)
		var next journal
		require.NoError(t, next.open(path))
		require.NoError(t, next.put("c", []byte(`3`)))
		require.NoError(t, next.file.Close())
		require.Equal(t, []string{`1`, `3`}, reopened(t, path), "a line behind the torn one, cut by %d", cut)
	}
	for i := range len(raw) / 2 { // of the first line
		bad := slices.Clone(raw)
		bad[i] ^= 1
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		require.Contains(t, [][]string{{`2`}, {}, nil}, reopened(t, path), "byte %d is wrong", i)
	}
}

func TestAJournalStaysSmall(t *testing.T) {
	j, path := openJournal(t)
	for i := range 20000 {
		require.NoError(t, j.put("key", fmt.Appendf(nil, "%d", i)))
		require.NoError(t, j.put("other", fmt.Appendf(nil, "%d", -i-1)))
		require.NoError(t, j.drop("other"))
	}
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, st.Size(), int64(2*rewriteAt))
	require.Equal(t, []string{`19999`}, reopened(t, path))
}

func TestAnEmptyJournalIsRemoved(t *testing.T) {
	j, path := openJournal(t)
	require.NoError(t, j.put("a", []byte(`1`)))
	require.NoError(t, j.drop("a"))
	require.NoError(t, j.close())
	require.NoFileExists(t, path)
}
