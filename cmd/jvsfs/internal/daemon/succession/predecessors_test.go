package succession

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/integration/goroutines"
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
	d := &Predecessors{Resolver: resolver, Exits: exits}

	left, endIt := alive(t)
	waits := func(ctx context.Context) <-chan bool {
		told := make(chan bool, 1)
		go func() { told <- d.awaitEnd(ctx, left) }()
		goroutines.MustBlock(t, told, "succession.(*Predecessors).awaitEnd")
		return told
	}
	over, end := context.WithCancel(ctx)
	told := waits(over)
	end()
	require.False(t, <-told, "it lives")
	told = waits(ctx)
	go endIt()
	require.True(t, <-told)
	require.Equal(t, lease.Gone, left.Liveness())
	require.True(t, d.awaitEnd(ctx, left), "nobody tells of what has ended before: it is looked for")

	d.Journal, d.replaced = &journal.Journal{}, &left
	for _, follows := range []bool{false, true} {
		overlap := !follows
		d.Overlap = func(on bool) { overlap = on }
		d.Await(ctx, func() bool { return follows })
		require.Equal(t, follows, overlap, "who follows another one by then has holders that write through both")
	}
}

// While one of those before lives, what needs every writer is refused, and the caller learns of which process to end.
func TestPredecessorsRefuseWhileOneLives(t *testing.T) {
	j := journal.New(zap.NewNop())
	var overlap []bool
	d := &Predecessors{Journal: j, Overlap: func(on bool) { overlap = append(overlap, on) }}
	require.False(t, d.Live())
	require.Empty(t, d.After())
	d.Await(t.Context(), nil)
	require.Empty(t, overlap, "there was none")

	first, end := alive(t)
	d.replaced = &first
	second, endSecond := alive(t)
	d.succeed(journal.File{Daemon: first, Instead: []host.ProcessState{second}})
	require.Equal(t, []host.ProcessState{first, second}, j.Instead())
	require.True(t, d.Live())
	require.Equal(t, fmt.Sprintf("%d:%d", first.PID, first.Start), d.After())
	require.Contains(t, d.Refuse("it waits").Message, fmt.Sprintf("it waits while files are open through the daemon that was replaced (process %d)", first.PID))
	end()
	require.Contains(t, d.Refuse("it waits").Next, fmt.Sprintf("kill -TERM %d", second.PID))
	endSecond()
	require.False(t, d.Live())
	d.Await(t.Context(), func() bool { return true })
	require.Equal(t, []bool{false, true}, overlap, "this one follows another by then")
}
