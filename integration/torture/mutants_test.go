package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The mutants follow the code: each is something else than it, and can be built.
func TestEveryMutantChangesTheCodeAndBuilds(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, m := range mutants {
		require.True(t, len(m.edits) > 0 || len(m.lacks) > 0, m.name)
		for _, e := range m.edits {
			require.NotEqual(t, e.old, e.with, m.name)
		}
		asks := slices.ContainsFunc(m.edits, func(e edit) bool { return strings.Contains(e.with, strconv.Quote(m.name)) })
		require.Equal(t, len(m.edits) > 0, asks, "%s: no edit asks whether it is the broken one", m.name)
	}
	// No edit may break anything while another mutant runs.
	for _, e := range allEdits() {
		require.True(t, strings.Contains(e.with, "inject.Broken(") || strings.HasPrefix(e.with, "import ("), e.with)
	}
	list, err := overlay(root, t.TempDir(), allEdits())
	require.NoError(t, err)
	build := exec.Command("go", "build", "-tags", "jvsfs_torture", "-overlay", list, "./lease", "./gate", "./fusefs")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestASnippetThatMovedIsNoMutant(t *testing.T) {
	_, err := overlay("../..", t.TempDir(), []edit{{"gate/epoch.go", "no such line", ""}})
	require.ErrorContains(t, err, "0 times in gate/epoch.go")
}
