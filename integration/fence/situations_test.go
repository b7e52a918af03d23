package fence

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// cast is who plays in a situation, which is a way of not holding the lease: the former holder, an outsider that has
// once held too (its handles are of an epoch before), and somebody else.
type cast struct {
	t                         *testing.T
	m                         *harness.Mount
	worktree                  []string // where the stage is, relative to the mount
	former, outsider, usurper *harness.Actor
}

// stage is the tree of the rows as the actors see it, behind as it is.
func (c *cast) stage() string  { return c.m.At(c.worktree...) }
func (c *cast) behind() string { return c.m.Behind(c.worktree...) }

// probeFile is a file of its own for finding out whether the lease is lost,
// so that the attempts which still succeed are no row's trace.
const probeFile = "probe"

func (c *cast) openProbe() {
	c.t.Helper()
	c.former.OK(harness.Command{Op: "open", Handle: "probe", Path: filepath.Join(c.stage(), probeFile), Flags: unix.O_WRONLY})
}

// awaitRefusal waits until the former holder's probe says that it has lost.
func (c *cast) awaitRefusal() {
	c.t.Helper()
	harness.EventuallyNoted(c.t, "the former holder is refused", func() (bool, string) {
		r := c.former.Do(harness.Command{Op: "pwrite", Handle: "probe", Data: []byte("probe")})
		return r.Errno == "EROFS", r.Errno
	})
}

// prepareStage is the tree of the matrix: rows, reads and the probe.
func prepareStage(t testing.TB, tree string) {
	t.Helper()
	prepareRows(t, tree)
	prepareReads(t, tree)
	harness.WithFiles(probeFile)(t, tree)
}

// openAll takes the lease for a, opens the handles of every handle row, and
// leaves a holding.
func (c *cast) openAll(a *harness.Actor) {
	c.t.Helper()
	c.m.Acquire(a, c.worktree...)
	for _, r := range allRows() {
		if r.isHandle() {
			require.Empty(c.t, r.opens(c.t, a, c.stage()).Errno, r.name)
		}
	}
}
