package integration

import (
	"bufio"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A container that was started while the mount was there has a copy of it in a mount
// namespace of its own, which unmounting does not reach. The daemon ends all the same,
// and the copy refuses everything.
func TestUmountEndsTheDaemonDespiteCopies(t *testing.T) {
	m := newMount(t, mountOptions{prepare: withFiles("f")})
	container := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c",
		`echo in; read go; cat "$1" 2>&1; echo done`, "sh", m.At("f"))
	in, err := container.StdinPipe()
	require.NoError(t, err)
	out, err := container.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, container.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Equal(t, "in", lines.Text())

	m.unmount()
	eventually(t, "the daemon ends", func() bool { return len(m.daemons()) == 0 })
	_, err = io.WriteString(in, "go\n")
	require.NoError(t, err)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "not connected")
	require.True(t, lines.Scan())
	require.Equal(t, "done", lines.Text())
	require.NoError(t, container.Wait())
}
