package lockfile

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever makes directories chooses what the captures of a rule are. No choice gives a lock the id of another one: it would end
// the tenure of that one, or be it.
func TestNoTwoLocksHaveOneID(t *testing.T) {
	r := &Rule{Spec: Spec{Name: "team"}}
	of := func(values ...string) Instance {
		i := Instance{Rule: r}
		for n, v := range values {
			i.Captures = append(i.Captures, Capture{Name: string(rune('a' + n)), Value: v})
		}
		return i
	}
	require.Equal(t, "team{a=x y,b=z/1}", of("x y", "z/1").ID(), "ordinary ones are read by people")
	require.Equal(t, "team", of().ID())
	require.NotEqual(t, of("x/y,b=z", "w").ID(), of("x/y", "z,b=w").ID())

	const letters = `ab,={}"\ /` + "\n\x00\xff\u00e9"
	dice := rand.New(rand.NewPCG(1, 2))
	seen := make(map[string][]string)
	for range 200_000 {
		values := make([]string, 1+dice.IntN(2))
		for i := range values {
			for range dice.IntN(5) {
				at := dice.IntN(len(letters))
				values[i] += letters[at : at+1]
			}
		}
		id := of(values...).ID()
		if was, there := seen[id]; there && !slices.Equal(was, values) {
			t.Fatalf("%q and %q are both %s", was, values, id)
		}
		seen[id] = values
	}
}
