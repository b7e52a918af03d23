package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// In a pid namespace that was entered without setsid, the session of everybody is 0.
func TestSessionsFromOutsideAreToldApart(t *testing.T) {
	procs := map[int]Stat{
		1:  {PPID: 0, Session: 1, Start: 10},
		20: {PPID: 0, Session: 0, Start: 20}, // entered by nsenter
		21: {PPID: 20, Session: 0, Start: 21},
		22: {PPID: 21, Session: 0, Start: 22},
		30: {PPID: 0, Session: 0, Start: 30}, // and again
		31: {PPID: 30, Session: 31, Start: 31},
		32: {PPID: 31, Session: 31, Start: 32},
		33: {PPID: 31, Session: 99, Start: 33}, // whose leader has ended
		40: {PPID: 1, Session: 0, Start: 40},   // an orphan of 30
		50: {PPID: 51, Session: 0, Start: 50},  // what /proc must never say
		51: {PPID: 50, Session: 0, Start: 51},
	}
	stat := func(pid int) (Stat, error) {
		if s, ok := procs[pid]; ok {
			return s, nil
		}
		return Stat{}, ErrGone
	}
	for pid, want := range map[int][2]int{
		1: {1, 10}, 20: {20, 20}, 21: {20, 20}, 22: {20, 20}, 30: {30, 30},
		31: {31, 31}, 32: {31, 31}, 33: {99, 0}, 40: {40, 40}, 50: {50, 50},
	} {
		session, start := sessionOf(pid, procs[pid], stat)
		require.Equal(t, want, [2]int{session, int(start)}, pid)
	}
}
