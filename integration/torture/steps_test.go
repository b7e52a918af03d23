package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inject/step.go knows the steps of the lease by the names of functions. A function that was renamed would turn its
// failpoints off without a word.
func TestEveryStepIsAFunctionOfTheLease(t *testing.T) {
	table, err := os.ReadFile("inject/step.go")
	require.NoError(t, err)
	var lease strings.Builder
	sources, err := filepath.Glob("../../lease/*.go")
	require.NoError(t, err)
	for _, name := range sources {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		lease.Write(text)
	}
	steps := regexp.MustCompile(`\{"\((\*\w+)\)\.(\w+)", "`).FindAllStringSubmatch(string(table), -1)
	require.NotEmpty(t, steps)
	for _, step := range steps {
		require.Regexp(t, `(?m)^func \(\w+ \`+step[1]+`\) `+step[2]+`\(`, lease.String())
	}
}
