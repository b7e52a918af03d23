package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// With an exit watch or without, who watches a process sees its end. What is not watched does not run.
func TestTheEndOfAWatchedProcessIsSeen(t *testing.T) {
	for name, exits := range map[string]*ExitWatch{"told by the kernel": ender(t), "looked for": nil} {
		t.Run(name, func(t *testing.T) {
			is, end := shell(t, "echo; read x")
			r := NewResolver(bootClock{})
			defer r.Close()
			told := make(chan struct{}, 1)
			w := r.Watch(is, exits, func() { told <- struct{}{} })
			other := r.Watch(ID{is.PID, is.Start + 1}, exits, func() { t.Error("told of another process's end") })
			require.True(t, w.Runs())
			require.False(t, other.Runs(), "the number is not the process")
			require.True(t, r.Runs(is))
			require.Equal(t, Alive, is.Liveness())
			require.NoError(t, end.Close())
			if exits != nil {
				<-told
			}
			require.Eventually(t, func() bool { return !w.Runs() }, eventually, tick)
			require.False(t, r.Runs(is), "it has not been reaped")
			require.Equal(t, Gone, is.Liveness())
			w.Close()
			w.Close()
			require.False(t, w.Runs())
			other.Close()
		})
	}
	var none *Watch
	none.Close()
	require.False(t, new(Watch).Runs())
}
