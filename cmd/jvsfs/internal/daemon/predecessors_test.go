package daemon

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// A daemon goes on waiting for one that it has replaced until that ends, and is told of the end. It does not outlast its own end.
func TestTheEndOfAReplacedDaemonIsWaitedFor(t *testing.T) {
	exits, err := process.NewExitWatch()
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	run := make(chan error, 1)
	go func() { run <- exits.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-run) })
	resolver := gate.NewResolver(lease.SystemClock())
	t.Cleanup(resolver.Close)
	d := &succession{mount: &mount{resolver: resolver, exits: exits}}

	c := exec.Command("cat")
	in, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	left, err := host.ThisProcess()
	require.NoError(t, err)
	st, err := process.ReadStat(c.Process.Pid)
	require.NoError(t, err)
	left.PID, left.Start = c.Process.Pid, st.Start

	over, end := context.WithTimeout(ctx, 20*time.Millisecond)
	defer end()
	require.False(t, d.awaitEnd(over, left), "it lives")
	told := make(chan bool, 1)
	go func() { told <- d.awaitEnd(ctx, left) }()
	require.NoError(t, in.Close())
	require.True(t, <-told)
	require.Equal(t, lease.Gone, left.Liveness())
	require.True(t, d.awaitEnd(ctx, left), "nobody tells of what has ended before: it is looked for")
}
