package doctor

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/lease"
)

// olderThan compares the first two numbers of kernel releases. A release that cannot be parsed is not older.
func olderThan(release, than string) bool {
	a, ok := versionOf(release)
	b, _ := versionOf(than)
	return ok && (a[0] < b[0] || a[0] == b[0] && a[1] < b[1])
}

func versionOf(s string) ([2]int, bool) {
	var v [2]int
	parts := strings.SplitN(s, ".", 3)
	if len(parts) < 2 {
		return v, false
	}
	for i := range v {
		digits := parts[i]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = digits[:end]
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

// checkClock asks the kernel whether the clock is disciplined, and how far off it
// believes to be (adjtimex(2)). Locking spec v6.3, "Clock skew detection": warn
// at half the bound. Above the bound the lease protocol's rule 7 refuses to steal.
func checkClock(bound time.Duration) []finding.Finding {
	var tx unix.Timex
	state, err := unix.Adjtimex(&tx)
	if err != nil {
		return []finding.Finding{finding.Warn("clock.unknown", "run it where adjtimex(2) is allowed", "adjtimex: %v", err)}
	}
	return []finding.Finding{clockFinding(state, tx.Status, clockError(tx), bound)}
}

// clockError is the larger of the offset being corrected and the estimated error.
func clockError(tx unix.Timex) time.Duration {
	unit := time.Microsecond
	if tx.Status&unix.STA_NANO != 0 {
		unit = time.Nanosecond
	}
	offset := (time.Duration(tx.Offset) * unit).Abs()
	return max(offset, time.Duration(tx.Esterror)*time.Microsecond)
}

func clockFinding(state int, status int32, off, bound time.Duration) finding.Finding {
	const fix = "run an NTP client (chronyc tracking, timedatectl status)"
	switch {
	case state == unix.TIME_ERROR || status&unix.STA_UNSYNC != 0:
		return finding.Warn("clock.unsynced", fix, "the clock is not synchronised; leases of several hosts rely on at most %s between their clocks", bound)
	case off > max(bound, lockdir.ClockNoise):
		return finding.Fail("clock.off", fix, "the clock is off by up to %s, more than the %s that leases allow: steals from and by other hosts are refused (%s)",
			off, bound, lease.ClassClockSkewExceeded)
	case off > max(bound/2, lockdir.ClockNoise):
		return finding.Warn("clock.off", fix, "the clock is off by up to %s, more than half of the %s that leases allow", off, bound)
	}
	return finding.OK("clock.synced", "synchronised, off by at most %s", off)
}
