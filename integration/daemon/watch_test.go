package daemon

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestStatusWatchRedrawsOnATerminal(t *testing.T) {
	m := heldFor(t, "a\x1b[2Jtest")
	c := newTerminal(m, 90, 40, m.Bin+" status --watch 200ms")
	screen := c.shows("jvsfs status", "every 200ms", m.Mountpoint, "serving", "a?[2Jtest")
	require.NotContains(t, c.bytes(), "\x1b[2Jtest")
	t.Log("\n" + screen)
	require.Equal(t, 1, strings.Count(screen, "jvsfs status"), "drawn over, not below")
	c.resize(60, 4)
	c.shows("more lines")
	c.keys("C-c")
	c.shows("ended with 0")
}

// On a pipe there is a block, or a line of JSON, each time; an interrupt is the end,
// and no failure.
func TestStatusWatchPrintsABlockEachTimeOnAPipe(t *testing.T) {
	m := heldFor(t, "a test")
	text := m.Start(m.Bin, "status", "--watch", "100ms")
	lines := m.Start(m.Bin, "status", "--watch=100ms", "--json")
	said := func(b *harness.Background) string {
		out, err := os.ReadFile(b.File)
		require.NoError(t, err)
		return string(out)
	}
	harness.Eventually(t, "three blocks", func() bool { return strings.Count(said(text), m.Mountpoint+"  serving") >= 3 })
	harness.Eventually(t, "three lines", func() bool { return strings.Count(said(lines), "\n") >= 3 })
	for _, b := range []*harness.Background{text, lines} {
		require.NoError(t, unix.Kill(b.PID(), unix.SIGINT))
		exit, out := b.Wait()
		require.Zero(t, exit, out)
	}
	require.NotContains(t, said(text), "\x1b", "no control sequences for a pipe")
	for line := range strings.Lines(said(lines)) {
		var one struct {
			At     string
			Mounts []struct {
				Mountpoint string
				Lease      int64 `json:"lease_duration_ms"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		require.NotEmpty(t, one.At)
		lease := int64(0)
		for _, other := range one.Mounts { // other people's, too
			if other.Mountpoint == m.Mountpoint {
				lease = other.Lease
			}
		}
		require.EqualValues(t, 30_000, lease, line)
	}
}
