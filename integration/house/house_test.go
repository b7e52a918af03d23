package house

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The structure does not grow beyond its budgets, and what is above one becomes less.
func TestNothingGrowsBeyondItsBudget(t *testing.T) {
	all, err := Load("../..")
	require.NoError(t, err)
	Hold(t, "figures", Measure(all))
}

func TestCompareTellsWhatGrewAndWhatBecameLess(t *testing.T) {
	big, files, lines := Figure{"methods", "a.T"}, Figure{"files", "a"}, Figure{"lines", "a"}
	for name, c := range map[string]struct {
		now, figures  map[Figure]int
		higher, lower []string
	}{
		"as it stands":         {map[Figure]int{big: 70}, map[Figure]int{big: 70}, nil, nil},
		"grew":                 {map[Figure]int{big: 71}, map[Figure]int{big: 70}, []string{"methods of a.T: 71, and may be 70"}, nil},
		"new above the budget": {map[Figure]int{files: 41}, nil, []string{"files of a: 41, and may be 40"}, nil},
		"became less":          {map[Figure]int{big: 69}, map[Figure]int{big: 70}, nil, []string{"methods of a.T: 69, and the figure says 70"}},
		"within the budget":    {nil, map[Figure]int{big: 70}, nil, []string{"methods of a.T: within the budget now, and the figure says 70"}},
		"a few lines less":     {map[Figure]int{lines: 9000}, map[Figure]int{lines: 10000}, nil, nil},
		"many lines less":      {map[Figure]int{lines: 8000}, map[Figure]int{lines: 10000}, nil, []string{"lines of a: 8000, and the figure says 10000"}},
	} {
		t.Run(name, func(t *testing.T) {
			higher, better := Compare(c.now, c.figures)
			require.Equal(t, c.higher, higher)
			require.Equal(t, c.lower, better)
		})
	}
}

func TestLowerWritesNoHigherFigure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures")
	f, g := Figure{"methods", "a.T"}, Figure{"files", "b"}
	require.NoError(t, os.WriteFile(path, []byte("# a comment\nmethods\ta.T\t70\nfiles\tb\t50\n"), 0o600))
	require.ErrorContains(t, lower(path, map[Figure]int{f: 71}), "methods of a.T: 71")
	require.NoError(t, lower(path, map[Figure]int{f: 65}))
	figures, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, map[Figure]int{f: 65, g: 50}, figures, "files were not measured")
	require.NoError(t, lower(path, map[Figure]int{f: 60, g: 50}))
	figures, err = Read(path)
	require.NoError(t, err)
	require.Equal(t, map[Figure]int{g: 50}, figures, "within the budget")
}

func TestALineThatIsNoFigureIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures")
	require.NoError(t, os.WriteFile(path, []byte("# a comment\nmethods\ta.T\n"), 0o600))
	_, err := Read(path)
	require.ErrorContains(t, err, "figures:2: ")
}

func TestBackwardFindsTheOrderOfFiles(t *testing.T) {
	arrows := func(pairs ...string) map[Arrow]bool {
		all := map[Arrow]bool{}
		for i := 0; i < len(pairs); i += 2 {
			all[Arrow{pairs[i], pairs[i+1]}] = true
		}
		return all
	}
	for name, c := range map[string]struct {
		arrows map[Arrow]bool
		back   int
	}{
		"a chain":           {arrows("a", "b", "b", "c", "c", "d"), 0},
		"a circle":          {arrows("a", "b", "b", "c", "c", "a"), 1},
		"two pairs":         {arrows("a", "b", "b", "a", "c", "d", "d", "c"), 2},
		"upside down":       {arrows("d", "c", "c", "b", "b", "a", "d", "a"), 0},
		"a circle with use": {arrows("a", "b", "b", "c", "c", "a", "a", "c", "x", "a", "b", "y"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			back, all := Backward(c.arrows)
			require.Equal(t, c.back, back)
			require.Equal(t, len(c.arrows), all)
		})
	}
}
