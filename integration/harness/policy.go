package harness

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Policy is the times of a lease.
type Policy struct{ Lease, Renew, skew, grace time.Duration }

var (
	// Calm is for tests in which no lease may end by itself.
	Calm = Policy{30 * time.Second, 10 * time.Second, 2 * time.Second, time.Second}.OnThisMachine()
	// Hasty is for tests that wait for the end of a lease. It is not shorter, for a machine that is busy and a disk that needs a second for a
	// flush must renew it in time: nine renewals may be late or fail. Half of its skew is what two clocks may seem to move apart
	// while a process waits for a processor between reading the one and the other (rule 7 in lease/doc.go).
	Hasty = Policy{4 * time.Second, 400 * time.Millisecond, 400 * time.Millisecond, 100 * time.Millisecond}.OnThisMachine()
)

// OnThisMachine is OnThisMachine of each of its times.
func (p Policy) OnThisMachine() Policy {
	return Policy{OnThisMachine(p.Lease), OnThisMachine(p.Renew), OnThisMachine(p.skew), OnThisMachine(p.grace)}
}

// OnThisMachine is longer than d on one that is emulated: JVSFS_TEST_SLOWER says how many times.
func OnThisMachine(d time.Duration) time.Duration {
	n, err := strconv.Atoi(os.Getenv("JVSFS_TEST_SLOWER"))
	if err != nil || n < 1 {
		return d
	}
	return d * time.Duration(n)
}

// Args are the options that say so.
func (p Policy) Args() []string {
	return []string{"--lease-duration", p.Lease.String(), "--renew-interval", p.Renew.String(),
		"--max-clock-skew", p.skew.String(), "--steal-grace", p.grace.String()}
}

// YAML is a configuration that says so.
func (p Policy) YAML() string {
	return fmt.Sprintf("lease_duration: %s\nrenew_interval: %s\nmax_clock_skew: %s\nsteal_grace: %s\n", p.Lease, p.Renew, p.skew, p.grace)
}
