package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
)

func TestClockFinding(t *testing.T) {
	bound := 2 * time.Second
	require.Equal(t, finding.SevOK, clockFinding(unix.TIME_OK, 0, time.Millisecond, bound).Severity)
	require.Equal(t, finding.SevWarn, clockFinding(unix.TIME_ERROR, 0, 0, bound).Severity)
	require.Equal(t, finding.SevWarn, clockFinding(unix.TIME_OK, unix.STA_UNSYNC, 0, bound).Severity)
	require.Equal(t, finding.SevWarn, clockFinding(unix.TIME_OK, 0, 1001*time.Millisecond, bound).Severity)
	require.True(t, finding.Failed([]finding.Finding{{Severity: finding.SevWarn}}, true))
	require.False(t, finding.Failed([]finding.Finding{{Severity: finding.SevWarn}}, false))
	require.True(t, finding.Failed([]finding.Finding{{Severity: finding.SevFail}}, false))
}

func TestOlderThan(t *testing.T) {
	require.True(t, olderThan("5.4.0-generic", "5.12"))
	require.False(t, olderThan("6.18.44-fc", "6.6"))
	require.False(t, olderThan("5.12-rc1", "5.12"))
	require.False(t, olderThan("strange", "5.12"))
}
