package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// The version of a worktree stays until somebody else may have written.
func TestAWorktreeIsUnchangedUntilSomebodyElseMayHaveWritten(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	free := g.StateVersion()
	require.True(t, g.Unchanged(free))
	first := k.give(userHolder(7, "7"))
	require.False(t, g.Unchanged(free), "somebody may have written since")
	held := g.StateVersion()
	mustEnter(t, g, byUser(7)).End()
	require.True(t, g.Unchanged(held))
	k.lose(lease.LossPaused, first, userHolder(7, "7"))
	k.resumes = true
	on := k.giveSince(first, userHolder(7, "7"))
	require.True(t, g.Unchanged(held), "the same holder went on")
	k.resumes = false
	k.lose(lease.LossReleased, on, userHolder(7, "7"))
	require.False(t, g.Unchanged(StateVersion{token: on + 1}))
	k.give(userHolder(8, "8"))
	require.False(t, g.Unchanged(held))
}

// In a window the token may change. When the window is over, it counts no more, however it ended.
func TestAWorktreeIsUnchangedInAWindowWhateverItsToken(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	tok := k.give(userHolder(7, "7"))
	w := quiesce(t, g, Windowed{})
	in := g.StateVersion()
	k.lose(lease.LossReleased, tok, userHolder(7, "7"))
	tok = k.give(userHolder(8, "8"))
	require.True(t, g.Unchanged(in), "the next holder waits")
	mustEnter(t, g, Request{Op: OpWrite, Epoch: EpochOf(tok), Stored: true}).End()
	require.True(t, wait.Happened(w.Over()))
	require.False(t, g.Unchanged(in))
	quiesce(t, g, Windowed{})
	require.False(t, g.Unchanged(in), "that is another one")
}
