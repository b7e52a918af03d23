package harness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOnThisMachine(t *testing.T) {
	for said, want := range map[string]time.Duration{"": time.Minute, "1": time.Minute, "10": 10 * time.Minute, "0": time.Minute, "-3": time.Minute, "x": time.Minute} {
		t.Setenv("JVSFS_TEST_SLOWER", said)
		require.Equal(t, want, OnThisMachine(time.Minute), "JVSFS_TEST_SLOWER=%q", said)
	}
	t.Setenv("JVSFS_TEST_SLOWER", "10")
	require.Equal(t, Policy{5 * time.Minute, 100 * time.Second, 20 * time.Second, 10 * time.Second},
		Policy{30 * time.Second, 10 * time.Second, 2 * time.Second, time.Second}.OnThisMachine())
}
