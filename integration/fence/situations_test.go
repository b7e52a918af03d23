package fence

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// situation is a way of not holding the lease. before runs without a holder;
// lose starts with the former holder holding, its handles open, and returns
// when it has lost the lease for good.
type situation struct {
	name   string
	policy harness.Policy
	lose   func(c *cast)
}

// cast is who plays in a situation: the former holder, an outsider that has
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

func situations() []situation {
	return []situation{
		{"free with deny, released", harness.Calm, func(c *cast) { c.m.Release(c.former) }},
		{"another holds it", harness.Calm, func(c *cast) {
			c.m.Release(c.former)
			c.m.Acquire(c.usurper)
		}},
		{"stolen after open", harness.Hasty, func(c *cast) {
			c.former.Stop()
			c.m.Steal(c.usurper)
			c.former.Resume()
		}},
		{"stolen and released", harness.Hasty, func(c *cast) {
			c.former.Stop()
			c.m.Steal(c.usurper)
			c.m.Release(c.usurper)
			c.former.Resume()
		}},
		{"expired", harness.Hasty, func(c *cast) {
			c.m.LetExpire(c.worktree...)
		}},
		{"renewal failed, claim removed", harness.Hasty, func(c *cast) {
			claim, _ := c.m.HeadClaim("")
			require.NoError(c.t, os.Remove(claim))
			c.awaitRefusal()
		}},
		{"renewal failed, claim replaced", harness.Hasty, func(c *cast) {
			claim, _ := c.m.HeadClaim("")
			require.NoError(c.t, os.Rename(claim, claim+".aside"))
			require.NoError(c.t, os.WriteFile(claim, []byte("not a record"), 0o600))
			c.awaitRefusal()
		}},
	}
}

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
