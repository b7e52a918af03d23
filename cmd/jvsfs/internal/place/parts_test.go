package place

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
)

// Who makes other worktrees of a directory's parts serves it with other records, so that the two do not serve it at once.
func TestOtherPartsHaveOtherRecords(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	p := Place{Shape: api.ShapeDirectory, ID: "t", Layout: layout.Tree}
	marks := map[int64]bool{}
	for _, guards := range []string{"", "a/{x}/**", "b/{x}/**"} {
		var specs []lockfile.Spec
		if guards != "" {
			specs = []lockfile.Spec{{Name: "p", TakenBy: lockfile.ByLease, Guards: []string{guards}}}
		}
		rules, mistakes := lockfile.Compile(specs)
		require.Empty(t, mistakes)
		with, err := p.WithRules(rules)
		require.NoError(t, err)
		mark, err := markOf(with, int(dir.Fd()), int(dir.Fd()))
		require.NoError(t, err)
		marks[mark] = true
	}
	require.Len(t, marks, 3)
}
