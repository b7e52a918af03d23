package tools

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// vimArgs is an ex session without anybody's settings. With V1 it says what it
// would have shown on a screen.
func vimArgs(more ...string) []string {
	return append([]string{"vim", "-es", "-V1", "-u", "NONE", "-i", "NONE"}, more...)
}

func TestToolVimWorksAsNatively(t *testing.T) {
	b := newBench(t, harness.WithFiles("f", "g"))
	edit := []string{"-c", "normal Oa new first line", "-c", "w", "-c", "w copy", "-c", "qa!", "f"}
	b.same(
		vimArgs(append([]string{"-n"}, edit...)...),
		// By a backup that is renamed, and with a swap file beside.
		vimArgs("--cmd", "set swapfile directory=. backup backupcopy=no", "-c", "normal ggdd", "-c", "x", "g"),
	)
	b.sameTrees(nil, harness.LeaveTimes)
	text, err := os.ReadFile(b.m.Behind("copy"))
	require.NoError(t, err)
	require.Contains(t, string(text), "a new first line\n")
}

// A swap file of the holder is there while it edits, and gone afterwards.
func TestToolVimSwapFileIsRemovedAtTheEnd(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	b.holder.OK(vimArgs("--cmd", "set swapfile directory=.", "-c", "normal Oedited", "-c", "preserve",
		"-c", "call writefile(glob('.*.sw?', 0, 1), '"+filepath.Join(b.m.Base, "seen")+"')", "-c", "x", "f")...)
	seen, err := os.ReadFile(filepath.Join(b.m.Base, "seen"))
	require.NoError(t, err)
	require.Equal(t, ".f.swp\n", string(seen))
	require.NoFileExists(t, b.m.At(".f.swp"))
}

func TestToolVimIsRefusedWhileAnotherHolds(t *testing.T) {
	b := newBench(t, harness.WithFiles("f"))
	b.whileHeld(func(s harness.Workshop) {
		const cannot = "E212: Can't open file for writing"
		s.Fails(1, cannot, vimArgs("-n", "-c", "normal Ox", "-c", "w", "-c", "qa!", "f")...)
		s.Fails(1, cannot, vimArgs("-n", "-c", "normal Ox", "-c", "w!", "-c", "qa!", "f")...)
		s.Fails(1, cannot, vimArgs("-n", "-c", "normal Ox", "-c", "w new", "-c", "qa!", "f")...)
		s.Fails(1, "'readonly' option is set", vimArgs("-R", "-n", "-c", "normal Ox", "-c", "w", "-c", "qa!", "f")...)
		// Without a place for its swap file it edits without one.
		s.Fails(1, "E303: Unable to open swap file", vimArgs("--cmd", "set directory=.", "-c", "set swapfile", "-c", "normal Ox", "-c", "w!", "-c", "qa!", "f")...)
		s.OK(vimArgs("-n", "-c", "echo getline(1)", "-c", "qa!", "f")...)
	})
}
