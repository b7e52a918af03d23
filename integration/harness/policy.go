package harness

import (
	"os"
	"strconv"
	"time"
)

// Policy is the times of a lease.
type Policy struct{ Lease, Renew, skew, grace time.Duration }

var (
	// Calm is for tests in which no lease may end by itself.
	Calm = Policy{30 * time.Second, 10 * time.Second, 2 * time.Second, time.Second}.onThisMachine()
	// Hasty is for tests that wait for the end of a lease: short, yet long
	// enough for a loaded machine to renew in time.
	Hasty = Policy{900 * time.Millisecond, 200 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond}
	// Steady is Hasty for a daemon on which hundreds wait, on a disk that may need a second for a flush.
	Steady = Policy{4 * time.Second, 400 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond}
)

// onThisMachine is longer on one that is emulated: JVSFS_TEST_SLOWER says by how much.
func (p Policy) onThisMachine() Policy {
	n, err := strconv.Atoi(os.Getenv("JVSFS_TEST_SLOWER"))
	if err != nil || n < 1 {
		return p
	}
	by := time.Duration(n)
	return Policy{p.Lease * by, p.Renew * by, p.skew * by, p.grace * by}
}

// Args are the options that say so.
func (p Policy) Args() []string {
	return []string{"--lease-duration", p.Lease.String(), "--renew-interval", p.Renew.String(),
		"--max-clock-skew", p.skew.String(), "--steal-grace", p.grace.String()}
}
