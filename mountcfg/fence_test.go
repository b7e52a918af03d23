package mountcfg

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFenceIsAListOfWords(t *testing.T) {
	path := writeConfig(t, "fence: [/usr/sbin/fence_it, \"--verbose\", \"port={node}\"]\n")
	c, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, []string{"/usr/sbin/fence_it", "--verbose", "port={node}"}, c.Fence)
	require.Equal(t, path+":1", c.where("fence"))
}

func TestFenceMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"fence: /bin/true":              "wants a list of a program and its arguments",
		"fence: [true]":                 "wants a word in quotes",
		"fence: [bin/true]":             "want the absolute path of a program first",
		"fence: [/bin/../tmp/x]":        "want the absolute path",
		"fence: [/bin/true, 7]":         "wants a word in quotes",
		"fence: [/bin/true, \"a\\nb\"]": "without control characters",
		"fence: [/bin/true, " + strings.Repeat("x", 1025) + "]": "at most 1024 bytes",
		"fence: [/bin/true" + strings.Repeat(", x", 64) + "]":   "at most 64 words",
		"worktrees: {main: {fence: [/bin/true]}}":               "unknown key \"fence\" of worktree main",
	} {
		_, err := Load(writeConfig(t, text+"\n"))
		require.ErrorContains(t, err, want, text)
	}
}

// A user's command line, and an option of mount(8), name no program that root runs.
func TestOnlyAFileNamesTheFence(t *testing.T) {
	opts, err := ParseOptions("fence=/bin/true")
	if err == nil {
		_, err = ResolveOptions("", opts, nil)
	}
	require.ErrorContains(t, err, "only a configuration file may name the program")
	_, err = parseFlags(t, "--fence=/bin/true")
	require.ErrorContains(t, err, "unknown flag")
	c := Default()
	require.ErrorContains(t, c.Set("fence", "/bin/true", WhereFlag), "only a configuration file")
}
