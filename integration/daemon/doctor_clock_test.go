package daemon

import (
	"bytes"
	"encoding/hex"
	"os/exec"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// What the kernel says of the clock is what doctor judges by the skew that leases allow (2 s).
// The machine's clock belongs to everybody: the kernel's answer is put in the place of its own.
func TestDoctorJudgesTheClockByTheAllowedSkew(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	for _, c := range []struct {
		state              string
		clock              unix.Timex
		id, severity, says string
	}{
		{"retval=0", unix.Timex{Esterror: 200_000}, "clock.synced", "ok", "off by at most 200ms"},
		{"retval=0", unix.Timex{Esterror: 1_500_000}, "clock.off", "warn", "off by up to 1.5s, more than half of the 2s"},
		{"retval=0", unix.Timex{Offset: -3_000_000}, "clock.off", "fail", "off by up to 3s, more than the 2s"},
		{"retval=0", unix.Timex{Offset: -1_200_000_000, Status: unix.STA_NANO}, "clock.off", "warn", "off by up to 1.2s"},
		{"retval=0", unix.Timex{Status: unix.STA_UNSYNC}, "clock.unsynced", "warn", "at most 2s between their clocks"},
		{"retval=5", unix.Timex{}, "clock.unsynced", "warn", "not synchronised"},
		{"error=ENOSYS", unix.Timex{}, "clock.unknown", "warn", "adjtimex: function not implemented"},
	} {
		all := doctorByClock(m, c.state, c.clock).About("clock", "")
		require.Len(t, all, 1, "%+v", all)
		require.Equal(t, []string{c.id, c.severity}, []string{all[0].ID, all[0].Severity}, "%+v", c)
		require.Contains(t, all[0].Message, c.says)
	}
}

// doctorByClock runs doctor with another answer of adjtimex(2).
func doctorByClock(m *harness.Mount, answer string, clock unix.Timex) harness.Findings {
	m.T.Helper()
	raw := (*[unsafe.Sizeof(clock)]byte)(unsafe.Pointer(&clock))[:] // as the kernel lays it out
	inject := "adjtimex:" + answer
	if answer != "error=ENOSYS" {
		inject += ":poke_exit=@arg1=" + hex.EncodeToString(raw)
	}
	cmd := exec.Command("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=adjtimex", "-e", "inject="+inject, m.Bin, "doctor", "--json")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	_ = err // the exit code is that of what was found
	require.Empty(m.T, errs.String())
	all, _ := harness.ReadDoctor(m.T, string(out))
	return all
}
