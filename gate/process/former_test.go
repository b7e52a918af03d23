package process

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who belonged stays in the set, with what it makes, until it is released. Others do not come in.
func TestFormerProcessesAreKnownUntilTheyAreReleased(t *testing.T) {
	is, _ := shell(t, "echo; read x")
	r := NewResolver(bootClock{})
	defer r.Close()
	mine := func(all map[int]Stat, pid int) bool { return DescendsIn(all, pid, is) }
	f := r.Former(bootClock{}.Boot(), mine)
	its, err := IdentityOf(is.PID)
	require.NoError(t, err)
	self, err := IdentityOf(os.Getpid())
	require.NoError(t, err)
	require.True(t, f.Has(its))
	require.False(t, f.Has(self))
	require.False(t, f.Has(Identity{}), "one that is not seen")
	f.Release(is)
	require.False(t, f.Has(its))
	var none *Former
	none.Release(is)
	require.False(t, none.Has(its))
}
