package fusefs

import (
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// A write that the store has answered with an error may have landed. If its lease is over by then, that is told. That the store cannot be
// asked whether it is over tells nothing, nor does an error that says that nothing was done.
func TestAWriteThatFailedLateIsTold(t *testing.T) {
	m := mounted(t, layout.Tree, func(string) {})
	g, err := m.fs.guard(&layout.Rule{Kind: layout.Guarded, Worktree: "tree"})
	require.NoError(t, err)
	var look error
	g.Open(lease.Grant{Token: 3, Holder: lease.Holder{Scope: string(gate.ScopeMount)},
		Deadline: lease.SystemClock().Boot() + time.Hour, Late: func() error { return look }})
	taken := &lease.Error{Class: lease.ClassLockNotHeld}
	for _, c := range []struct {
		answer fuse.Status
		look   error
		told   string
		then   fuse.Status
	}{
		{fuse.EIO, nil, "", fuse.EIO},
		{fuse.EIO, &lease.Error{Class: lease.ClassStoreFailed}, "", fuse.EIO},
		{fuse.Status(28), taken, "", fuse.Status(28)},
		{fuse.EIO, taken, "input/output error", fuse.EIO},
		{fuse.Status(107), taken, "transport endpoint is not connected", fuse.EIO},
	} {
		pass, no := g.Enter(gate.Request{Op: gate.OpWrite, Epoch: gate.EpochOf(3)})
		require.Nil(t, no)
		p := permit{op: gate.OpWrite, off: 7, length: 3, n: 1}
		p.of[0].guard, p.of[0].pass = g, pass
		look = c.look
		m.keeper.mu.Lock()
		m.keeper.late = nil
		m.keeper.mu.Unlock()
		st := c.answer
		p.leave(&st)
		require.Equal(t, c.then, st)
		m.keeper.mu.Lock()
		late := m.keeper.late
		m.keeper.mu.Unlock()
		if c.told == "" {
			require.Empty(t, late, "%v", c)
			continue
		}
		require.Equal(t, []lease.LateWrite{{Token: 3, Op: "Write", Offset: 7, Length: 3, Failed: c.told}}, late)
	}
}
