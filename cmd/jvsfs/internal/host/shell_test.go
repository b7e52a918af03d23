package host

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

func TestIsShell(t *testing.T) {
	for _, c := range []struct {
		p   program
		yes bool
	}{
		{program{"bash", "/usr/bin/bash", "-bash"}, true},
		{program{"deploy.sh", "/usr/bin/dash", "/bin/sh"}, true},               // a script
		{program{"bash", "/usr/bin/bash (deleted)", "bash"}, true},             // upgraded meanwhile
		{program{"zsh", "/opt/zsh-5.9/bin/zsh-5.9", "zsh"}, true},              // a version of it
		{program{"build", "/bin/busybox", "/bin/sh"}, true},                    // a script of Alpine
		{program{"xargs", "/bin/busybox", "xargs"}, false},                     // another tool of that
		{program{"sh", "", "sh"}, true},                                        // another user's
		{program{"xonsh", "/usr/bin/python3.13", "/usr/bin/python3.13"}, true}, // a shell that is a script
		{program{"node", "/usr/bin/node", "node"}, false},
		{program{"python3", "/usr/bin/python3.13", "python3"}, false},
		{program{"tmux: server", "/usr/bin/tmux", "tmux"}, false},
		{program{"make", "/usr/bin/make", "make"}, false},
		{program{}, false},
	} {
		require.Equal(t, c.yes, isShell(c.p), c.p)
	}
}

// The parent of a test is the go command, or whatever runs its binary.
func TestWithoutAShellTheWayOutIsSaid(t *testing.T) {
	f := noShell(os.Getpid())
	require.Equal(t, api.ExitUsage, f.Exit())
	require.Contains(t, f.Message, "is no shell: all that it starts could write")
	require.Contains(t, f.Next, "jvsfs exec")
	require.Contains(t, noShell(1).Message, "adopts every orphan")
	require.Contains(t, noShell(1).Next, "--pid 1 if that is meant")
}
