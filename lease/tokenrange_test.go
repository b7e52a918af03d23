package lease

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// While somebody holds, such a view is no successor: the holder goes on and puts its own view back.
func TestAForeignViewOutOfBoundsRobsNobody(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	g := a.must(t, ann)
	r := anyRecord()
	r.FencingToken = record.MostForeign + 1
	b, err := json.Marshal(r)
	require.NoError(t, err)
	s := d.Store("main")
	require.NoError(t, unix.Unlinkat(d.fd, s.viewName(), 0))
	d.put(t, s.viewName(), string(b))
	found, err := a.own().successorAnywhere()
	require.NoError(t, err)
	require.False(t, found)
	require.EqualValues(t, 1, g.Token)
}
