package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
)

// Locking spec v6.3: "SHOULD warn if system clock offset exceeds max_clock_skew_ms / 2".
func TestDoctorWarnsAtHalfTheSkewBoundAndFailsAboveIt(t *testing.T) {
	const bound, ns = 2 * time.Second, time.Nanosecond
	for off, want := range map[time.Duration]string{
		0: finding.SevOK, time.Second: finding.SevOK, time.Second + ns: finding.SevWarn, 2 * time.Second: finding.SevWarn, 2*time.Second + ns: finding.SevFail, time.Hour: finding.SevFail,
	} {
		f := clockFinding(unix.TIME_OK, unix.STA_NANO, off, bound)
		require.Equal(t, want, f.Severity, "%v: %s", off, f.Message)
		require.Equal(t, want == finding.SevFail, finding.Failed([]finding.Finding{f}, false), "%v", off)
		require.Equal(t, want != finding.SevOK, finding.Failed([]finding.Finding{f}, true), "%v, --strict", off)
		if want != finding.SevOK {
			require.Contains(t, f.Message, off.String())
			require.Contains(t, f.Fix, "NTP")
		}
	}
	require.Contains(t, clockFinding(unix.TIME_OK, 0, time.Hour, bound).Message, "E_CLOCK_SKEW_EXCEEDED")
	// Without a daemon that steers the clock nothing is known of its offset.
	require.Equal(t, finding.SevWarn, clockFinding(unix.TIME_OK, unix.STA_UNSYNC, 0, bound).Severity)
}

// One who trusts the clocks of one host sets the bound to 0. No clock is that good, and none
// needs to be.
func TestDoctorAllowsForTheNoiseOfClocks(t *testing.T) {
	for off, want := range map[time.Duration]string{0: finding.SevOK, lockdir.ClockNoise: finding.SevOK, lockdir.ClockNoise + 1: finding.SevFail} {
		require.Equal(t, want, clockFinding(unix.TIME_OK, unix.STA_NANO, off, 0).Severity, "%v", off)
	}
}

// adjtimex(2) gives the offset in nanoseconds or microseconds, and what it believes its error to be in microseconds.
func TestTheLargerOfOffsetAndErrorCounts(t *testing.T) {
	for want, tx := range map[time.Duration]unix.Timex{
		3 * time.Microsecond: {Offset: -3}, 3 * time.Nanosecond: {Offset: -3, Status: unix.STA_NANO},
		5 * time.Microsecond: {Offset: 3, Esterror: 5},
	} {
		require.Equal(t, want, clockError(tx))
	}
	require.NotEmpty(t, checkClock(time.Second))
}
