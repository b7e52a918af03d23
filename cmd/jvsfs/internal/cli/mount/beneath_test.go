package mount

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

func TestTheCallingShellIsNamedFirst(t *testing.T) {
	at := func(pid int, use string) api.BusyEntry { return api.BusyEntry{PID: pid, Use: use} }
	line := []int{30, 20, 10} // sudo, a shell, a terminal
	sudo := map[int]bool{30: true}
	for name, c := range map[string]struct {
		all   []api.BusyEntry
		order []int
		shell int
	}{
		"nobody":                {nil, nil, 0},
		"the shell, by sudo":    {[]api.BusyEntry{at(5, "fd 3"), at(20, "cwd"), at(30, "cwd")}, []int{20, 5}, 20},
		"sudo alone":            {[]api.BusyEntry{at(30, "cwd")}, []int{}, 0},
		"the shell's parent":    {[]api.BusyEntry{at(5, "cwd"), at(10, "cwd")}, []int{10, 5}, 0},
		"the shell, by a file":  {[]api.BusyEntry{at(20, "fd 1")}, []int{20}, 0},
		"somebody else":         {[]api.BusyEntry{at(5, "cwd")}, []int{5}, 0},
		"nearest first, stable": {[]api.BusyEntry{at(10, "cwd"), at(20, "cwd"), at(20, "fd 1")}, []int{20, 20, 10}, 20},
	} {
		s := orderStanding(c.all, line, sudo)
		var order []int
		for _, e := range s.entries {
			order = append(order, e.PID)
		}
		require.ElementsMatch(t, c.order, order, name)
		if len(c.order) > 0 {
			require.Equal(t, c.order, order, name)
		}
		require.Equal(t, c.shell, s.shell, name)
	}
}
