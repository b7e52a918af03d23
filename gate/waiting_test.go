package gate

import (
	"os/exec"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/goroutines"
)

// A mutation that waits says so, and says when the wait is over. The file system reads requests
// meanwhile.
func TestAMutationThatWaitsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		var waiting atomic.Int64
		g.cfg.Enforcement.OnWait(func() func() {
			waiting.Add(1)
			return func() { waiting.Add(-1) }
		})
		h := frozenFor(t, g, k, time.Hour)
		done := enterInBackground(t, g, write(EpochOf(h.tok)))
		require.Eventually(t, func() bool { return waiting.Load() == 1 }, eventually, tick)
		h.thaw()
		require.Nil(t, <-done)
		require.Zero(t, waiting.Load())
	})
}

// A caller that is being killed does not wait, whatever it waits for. A caller that has got another
// signal goes on waiting.
func TestAKilledCallerDoesNotWait(t *testing.T) {
	for name, wait := range map[string]func(*testing.T, *Guard, *keeper) Request{
		"a handover, by handle": func(t *testing.T, g *Guard, k *keeper) Request {
			return write(EpochOf(frozenFor(t, g, k, time.Hour).tok))
		},
		"a handover, by name": func(t *testing.T, g *Guard, k *keeper) Request {
			frozenFor(t, g, k, time.Hour)
			return byUser(7)
		},
		"a rename of the root": func(t *testing.T, g *Guard, _ *keeper) Request {
			f := &Freeze{stop: newStop(time.Hour), of: g.cfg.Enforcement, guards: []*Guard{g}}
			require.True(t, f.begin())
			t.Cleanup(f.Thaw)
			return byUser(7)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree = AllowOnFree })
			r := wait(t, g, k)
			caller := exec.Command("sleep", "1000")
			require.NoError(t, caller.Start())
			t.Cleanup(func() { _ = caller.Process.Kill() }) // after a failure
			signal := make(chan struct{})
			r.Signal, r.Caller.TID = signal, uint32(caller.Process.Pid)
			done := enterInBackground(t, g, r)
			require.Eventually(t, func() bool { return g.cfg.Enforcement.Waiting() == 1 }, eventually, tick)
			close(signal)
			goroutines.MustBlock(t, done, "process.WhenDying") // it has looked at the caller: that is a process, in no bubble
			require.NoError(t, caller.Process.Kill())
			require.Error(t, caller.Wait())
			no := <-done
			require.NotNil(t, no)
			require.Equal(t, reasonKilled, no.Reason)
			require.Zero(t, g.cfg.Enforcement.Waiting())
			require.Zero(t, g.Status().Refusals, "nobody was refused")
		})
	}
}
