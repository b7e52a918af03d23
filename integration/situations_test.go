package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// situation is a way of not holding the lease. before runs without a holder;
// lose starts with the former holder holding, its handles open, and returns
// when it has lost the lease for good.
type situation struct {
	name   string
	policy policy
	lose   func(c *cast)
}

// cast is who plays in a situation: the former holder, an outsider that has
// once held too (its handles are of an epoch before), and somebody else.
type cast struct {
	t                         *testing.T
	m                         *mount
	worktree                  []string // where the stage is, relative to the mount
	former, outsider, usurper *actor
}

// stage is the tree of the rows as the actors see it, behind as it is.
func (c *cast) stage() string  { return c.m.At(c.worktree...) }
func (c *cast) behind() string { return c.m.Behind(c.worktree...) }

func situations() []situation {
	return []situation{
		{"free with deny, released", calm, func(c *cast) { c.m.release(c.former) }},
		{"another holds it", calm, func(c *cast) {
			c.m.release(c.former)
			c.m.acquire(c.usurper)
		}},
		{"stolen after open", hasty, func(c *cast) {
			c.former.stop()
			c.m.steal(c.usurper)
			c.former.resume()
		}},
		{"stolen and released", hasty, func(c *cast) {
			c.former.stop()
			c.m.steal(c.usurper)
			c.m.release(c.usurper)
			c.former.resume()
		}},
		{"expired", hasty, func(c *cast) {
			c.former.stop()
			c.m.awaitStealable("")
			c.former.resume()
		}},
		{"renewal failed, claim removed", hasty, func(c *cast) {
			claim, _ := c.m.headClaim("")
			require.NoError(c.t, os.Remove(claim))
			c.awaitRefusal()
		}},
		{"renewal failed, claim replaced", hasty, func(c *cast) {
			claim, _ := c.m.headClaim("")
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
	c.former.ok(command{Op: "open", Handle: "probe", Path: filepath.Join(c.stage(), probeFile), Flags: unix.O_WRONLY})
}

// awaitRefusal waits until the former holder's probe says that it has lost.
func (c *cast) awaitRefusal() {
	c.t.Helper()
	eventuallyNoted(c.t, "the former holder is refused", func() (bool, string) {
		r := c.former.do(command{Op: "pwrite", Handle: "probe", Data: []byte("probe")})
		return r.Errno == "EROFS", r.Errno
	})
}

// prepareStage is the tree of the matrix: rows, reads and the probe.
func prepareStage(t testing.TB, tree string) {
	t.Helper()
	prepareRows(t, tree)
	prepareReads(t, tree)
	withFiles(probeFile)(t, tree)
}

// openAll takes the lease for a, opens the handles of every handle row, and
// leaves a holding.
func (c *cast) openAll(a *actor) {
	c.t.Helper()
	c.m.acquire(a, c.worktree...)
	for _, r := range allRows() {
		if r.isHandle() {
			a.ok(command{Op: "row.open", Path: c.stage(), Name: r.name})
		}
	}
}
