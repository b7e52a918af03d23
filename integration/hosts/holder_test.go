//go:build jvsfs_hosts

package hosts

import (
	"os"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/machine"
)

// brief is for what waits for the end of a lease. Long enough for a machine with a load of 50 to renew in time.
var brief = times{lease: 12 * time.Second, renew: 4 * time.Second, skew: 2 * time.Second, grace: time.Second}

// calm is for leases that do not end by themselves.
var calm = times{lease: 2 * time.Minute, renew: 20 * time.Second, skew: 2 * time.Second, grace: time.Second}

// times are those of a lease.
type times struct{ lease, renew, skew, grace time.Duration }

func (p times) args() []string {
	return []string{"--lease-duration", p.lease.String(), "--renew-interval", p.renew.String(),
		"--max-clock-skew", p.skew.String(), "--steal-grace", p.grace.String()}
}

// holder is a jvsfs exec on a host that holds the lease until it is told to end.
type holder struct {
	c   *cluster
	j   *machine.Job
	end string // a file that ends it
}

// hold takes the lease on a host. It has it when it returns.
func (c *cluster) hold(h *host, options ...string) *holder {
	c.t.Helper()
	mark, err := os.MkdirTemp(h.Dir, "hold-")
	require.NoError(c.t, err)
	line := "echo >" + mark + "/begun; until [ -e " + mark + "/end ]; do sleep 0.05; done"
	k := &holder{c: c, end: mark + "/end", j: h.Start(c.execArgs(line, options...)...)}
	harness.EventuallyNoted(c.t, h.Name+" holds", func() (bool, string) {
		_, err := os.Stat(mark + "/begun")
		return err == nil, k.j.Said() + h.Logs()
	})
	return k
}

// release lets the command end, which must have kept the lease.
func (k *holder) release() {
	k.c.t.Helper()
	require.NoError(k.c.t, os.WriteFile(k.end, nil, 0o644))
	exit, said := k.j.Wait()
	require.Zero(k.c.t, exit, "%s%s", said, k.j.Host.Logs())
}
