package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli"
)

// A command line of ours in a text: in code, or in a line of a block.
var (
	blockOfText    = regexp.MustCompile("(?ms)^```[^`\n]*\n(.*?)^```$")
	commandInBlock = regexp.MustCompile(`(?m)(?:^\s*|^\$ |-- |\|\| |&& )jvsfs ([a-z].*)`)
	commandInCode  = regexp.MustCompile("`jvsfs ([a-z][^`\n]*)`")
)

// Whatever command and flag the manual and README name is there, also those in blocks that
// no test can run.
func TestManualNamesWhatThereIs(t *testing.T) {
	pages, err := filepath.Glob("pages/*.md")
	require.NoError(t, err)
	n := 0
	for _, page := range append(pages, "../../README.md", "../../.github/CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		named := commandInCode.FindAllStringSubmatch(blockOfText.ReplaceAllString(string(text), ""), -1)
		for _, block := range blockOfText.FindAllString(string(text), -1) {
			named = append(named, commandInBlock.FindAllStringSubmatch(block, -1)...)
		}
		for _, m := range named {
			requireNamed(t, page, m[1])
			n++
		}
	}
	require.Greater(t, n, 60)
}

// requireNamed looks up the command that words begin with, and each flag up to the command
// that they run.
func requireNamed(t *testing.T, page, words string) {
	t.Helper()
	words, _, _ = strings.Cut(words, " #")
	words, _, _ = strings.Cut(words, " | ")
	words, _, _ = strings.Cut(words, " -- ")
	fields := strings.Fields(words)
	cmd, rest, err := cli.NewRoot(cli.Program{}).Find(fields)
	require.NoError(t, err, "%s: jvsfs %s", page, words)
	require.True(t, cmd.HasParent(), "%s: jvsfs %s", page, words)
	require.False(t, cmd.HasSubCommands() && len(rest) > 0 && isName(rest[0]), "%s: jvsfs %s", page, words)
	for _, word := range rest {
		if name, ok := strings.CutPrefix(strings.Trim(word, "[]"), "--"); ok && name != "" {
			name, _, _ = strings.Cut(name, "=")
			require.True(t, hasFlag(cmd, name), "%s: jvsfs %s has no --%s", page, cmd.CommandPath(), name)
		}
	}
}

// isName tells the name of a command from a placeholder.
func isName(word string) bool { return regexp.MustCompile(`^[a-z]+$`).MatchString(word) }

func hasFlag(cmd *cobra.Command, name string) bool {
	cmd.InitDefaultHelpFlag()
	return cmd.Flags().Lookup(name) != nil || cmd.InheritedFlags().Lookup(name) != nil
}

// The files that CONTRIBUTING sends a reader to are there.
func TestContributingNamesFiles(t *testing.T) {
	text, err := os.ReadFile("../../.github/CONTRIBUTING.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`([\\w.-]+/[\\w./*-]+\\.(?:go|sh|md|yml|pml))").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(named), 30)
	for _, m := range named {
		found, err := filepath.Glob(filepath.Join("../..", m[1]))
		require.NoError(t, err)
		require.NotEmpty(t, found, m[1])
	}
}
