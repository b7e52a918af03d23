package human

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTypedWordsComeBackFromAShell(t *testing.T) {
	require.Equal(t, "/srv/repo/main", Typed("/srv/repo/main"))
	require.Equal(t, "'a b'", Typed("a b"))
	require.Equal(t, `'it'\''s'`, Typed("it's"))
	require.Equal(t, "''", Typed(""))
	require.Equal(t, "'$HOME'", Typed("$HOME"))
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"wait", "wait", 0}, {"wiat", "wait", 2}, {"", "pid", 3}, {"pdi", "pid", 2}, {"jsn", "json", 1}, {"purpose", "porpoise", 2}} {
		require.Equal(t, c.want, Distance(c.a, c.b), c.a+" "+c.b)
		require.Equal(t, c.want, Distance(c.b, c.a), c.b+" "+c.a)
	}
}
