package gate

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// May is asked before a lease would be taken, and only then. A no is the file system's, not the
// fence's.
func TestAUserWhoMayNotWriteTakesNoLease(t *testing.T) {
	told := 0
	g, k, _ := newTestGuard(t, func(c *GuardConfig) {
		c.OnFree, c.Scope = AcquireOnFree, ScopeUser
		c.OnRefusal = func(*Refusal) { told++ }
	})
	asked, answer := 0, false
	r := byUser(7)
	r.May = func() bool { asked++; return answer }
	no := mustRefuse(t, g, r, reasonNoRight)
	require.Equal(t, syscall.EPERM, no.Errno)
	require.Equal(t, ClassNoRight, no.Class())
	require.Zero(t, len(k.asked))
	require.Equal(t, []int{1, 0, 0}, []int{asked, told, int(g.refusals.Load())})

	answer = true
	mustEnter(t, g, r).End()
	require.Equal(t, []int{2, 1}, []int{asked, len(k.asked)})
	answer = false
	mustEnter(t, g, r).End() // the holder's path costs nothing
	other := byUser(8)
	other.May = r.May
	mustRefuse(t, g, other, ReasonHeldByOther)
	require.Equal(t, 2, asked)
	require.Equal(t, 1, told)
}
