package gate

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate/process"
)

func TestANameIsShownWithoutControlCharacters(t *testing.T) {
	require.Equal(t, "make", shown("make", 32))
	require.Equal(t, "a?[2Jb??c", shown("a\x1b[2Jb\n\xffc", 32))
	long := shown(strings.Repeat("ü", 500), wroteShown)
	require.True(t, utf8.ValidString(long))
	require.LessOrEqual(t, len(long), wroteShown+len("…"))
	require.True(t, strings.HasPrefix(long, "…ü"))
	require.Equal(t, "…/c", shown("a/b/c", 2))
}

// Whom a lease was taken for by writing: the process that wrote, and where that is known, what it wrote.
func TestAnAutomaticLeaseNamesTheProcessAndWhatItWrote(t *testing.T) {
	st, err := process.ReadStat(os.Getpid())
	require.NoError(t, err)
	id := process.Identity{PID: os.Getpid(), Start: st.Start}
	g := &Guard{cfg: GuardConfig{Wrote: func(node int, name string) string {
		if name == "" {
			return ""
		}
		return "src/" + name
	}}}
	require.Regexp(t, `^\S+ \(pid \d+\), which wrote src/new$`, attempt{g, Request{Node: 7, Name: "new"}, Enforcing}.origin(id))
	require.Regexp(t, `^\S+ \(pid \d+\)$`, attempt{g, Request{Node: 7}, Enforcing}.origin(id), "its name is not told")
	require.Regexp(t, `^\S+ \(pid \d+\)$`, attempt{g, Request{}, Enforcing}.origin(id))
	require.Empty(t, attempt{g, Request{Node: 7, Name: "new"}, Enforcing}.origin(process.Identity{PID: id.PID, Start: id.Start + 1}), "the number is another process's by now")
	require.Empty(t, attempt{g, Request{Node: 7, Name: "new"}, Enforcing}.origin(process.Identity{}), "it cannot be seen")
}
