package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The mutants follow the code: each is something else than it, and can be built.
func TestEveryMutantFits(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var all []edit
	for _, m := range mutants {
		require.True(t, len(m.edits) > 0 || len(m.lacks) > 0, m.name)
		_, err := overlay(root, t.TempDir(), m.edits)
		require.NoError(t, err, m.name)
		for _, e := range m.edits {
			require.NotEqual(t, e.old, e.with, m.name)
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	list, err := overlay(root, t.TempDir(), all)
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
