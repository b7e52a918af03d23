package daemon

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// There is one time left: how long the holder may write unless its lease is renewed.
func TestEveryPartOfAnAnswerTellsTheSameTimeLeft(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Calm, Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a)
	out, _, exit := m.CLI("explain", "--pid", harness.PIDOf(b), m.At("f"))
	require.Equal(t, harness.ExitConflict, exit)
	found := regexp.MustCompile(`\(token 1, (\S+) left unless renewed\)(?s:.*)until \S+ \((\S+) left\)`).FindStringSubmatch(out)
	require.NotNil(t, found, out)
	require.Equal(t, found[1], found[2], out)
	most := harness.Calm.Lease - harness.Calm.Renew // then the gate closes
	for _, text := range []string{found[1], regexp.MustCompile(`(?m)^  \S+ +held +1 +\S+ +(\S+) `).FindStringSubmatch(m.MustCLI("status"))[1]} {
		left, err := time.ParseDuration(text)
		require.NoError(t, err)
		require.LessOrEqual(t, left, most)
	}
}
