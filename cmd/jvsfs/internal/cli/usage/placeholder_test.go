package usage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryArgumentIsCompletedByItsPlaceholder(t *testing.T) {
	for _, c := range []struct {
		use  string
		n    int
		want string
	}{
		{"status", 0, ""},
		{"mount SOURCE [MOUNTPOINT]", 0, "SOURCE"},
		{"mount SOURCE [MOUNTPOINT]", 1, "MOUNTPOINT"},
		{"mount SOURCE [MOUNTPOINT]", 2, ""},
		{"exec WORKTREE -- CMD [ARG...]", 0, "WORKTREE"},
		{"exec WORKTREE -- CMD [ARG...]", 7, "ARG"},
		{"doctor [PATH...]", 3, "PATH"},
		{"recover [MOUNTPOINT]", 0, "MOUNTPOINT"},
		{"status [--watch [INTERVAL]]", 0, ""},
		{"handover WORKTREE --to-pid N | --to-host NAME", 0, "WORKTREE"},
		{"handover WORKTREE --to-pid N | --to-host NAME", 1, ""},
		{"enforce MOUNTPOINT [observe|enforce|readonly]", 1, "observe|enforce|readonly"},
	} {
		require.Equal(t, c.want, Placeholder(c.use, c.n), "%s, %d", c.use, c.n)
	}
}
