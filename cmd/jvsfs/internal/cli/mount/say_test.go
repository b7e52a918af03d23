package mount

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/gate/layout"
)

// Whoever may make a directory must not write on the terminal of who mounts it.
func TestTheLayoutIsSaidOnOnePrintableLine(t *testing.T) {
	var out bytes.Buffer
	m := &mountCommand{io: console.Streams{Out: &out}}
	m.sayLayout(place.Place{Root: "/srv/a\x1b[2J\r\nlayout", Layout: layout.Tree, Why: "it has \x1b"})
	require.NotContains(t, out.String(), "\x1b")
	require.NotContains(t, out.String(), "\r")
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
}
