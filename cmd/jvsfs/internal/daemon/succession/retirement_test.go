package succession

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

var next = api.Device{Major: 0, Minor: 77}

// retiring is a daemon that is asked to retire.
type retiring struct {
	*Retirement
	leases *leases
	all    *said // of all parts
	sent   chan api.Response
	refuse error // the client cannot be told
}

func newRetiring() *retiring {
	r := &retiring{leases: &leases{held: map[lease.WorktreeID]lease.Saved{"main": {Token: 3}}}, sent: make(chan api.Response, 1)}
	r.all = &r.leases.said
	j := journal.New(zap.NewNop())
	r.Retirement = &Retirement{Detached: func() bool { return false }, Journal: j, Predecessors: &Predecessors{Journal: j, Overlap: func(on bool) { r.all.note("overlap %v", on) }},
		Rules:   NewRuleHandover(RuleHandover{Door: rules{said: r.all}, Book: rules{said: r.all}, Tenures: rules{said: r.all}, Tree: tree{r.all}, Log: zap.NewNop()}),
		Resumed: func() error { r.all.note("journal"); return nil }, EndEvents: func() { r.all.note("end events") }, Log: zap.NewNop(), Leases: r.leases}
	return r
}

// begin is the first step, by a daemon that has begun the process successor.
func (r *retiring) begin(t *testing.T, ctx context.Context, successor host.ProcessState) (ended <-chan error) {
	done, err := r.latch.begin(next, successor)
	require.NoError(t, err)
	end := make(chan error, 1)
	go func() {
		_, err := r.retire(ctx, func(resp api.Response) error { r.sent <- resp; return r.refuse }, next, successor, done)
		end <- err
	}()
	return end
}

// alive is a process that ends by the function.
func alive(t *testing.T) (p host.ProcessState, end func()) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	end = sync.OnceFunc(func() { _ = in.Close(); _ = c.Wait() })
	t.Cleanup(end)
	p, err = host.ThisProcess()
	require.NoError(t, err)
	st, err := process.ReadStat(c.Process.Pid)
	require.NoError(t, err)
	p.PID, p.Start = c.Process.Pid, st.Start
	return p, end
}

// The old daemon tells what it holds, and hands all of it over at the second step.
func TestARetiringDaemonTellsWhatItHoldsAndThenLeavesIt(t *testing.T) {
	r := newRetiring()
	p, _ := alive(t)
	ended := r.begin(t, t.Context(), p)
	resp := <-r.sent
	require.Equal(t, api.EventResult, resp.Event)
	var left journal.File
	require.NoError(t, json.Unmarshal(resp.Result, &left))
	require.Equal(t, lease.Token(3), left.Held["main"].Token)
	deadline, goesOn := r.leases.lead("main")(3)
	require.True(t, goesOn, "the successor has not begun")
	require.Zero(t, deadline)
	_, err := r.Finish(api.Retired{Successor: api.Successor{Device: "0:78"}})
	require.Error(t, err, "another mount")
	_, err = r.Finish(api.Retired{Successor: api.Successor{Device: next.String()}})
	require.NoError(t, err)
	require.ErrorIs(t, <-ended, control.ErrWatched)
	require.Equal(t, said{"shut", "shut rules", "follow in rules", "follow", "leave the tree", "leave the door shut", "leave tenures", "tell", "end events"}, *r.all)
	require.True(t, r.UnderWay(), "for ever")
	_, goesOn = r.leases.lead("main")(3)
	require.False(t, goesOn, "nobody leads it")
	r.Rules.Run(t.Context())
	require.Equal(t, "give up a lock", (*r.all)[len(*r.all)-1])
}

// stayed is what a daemon does that is not replaced after all.
var stayed = said{"resume", "overlap false", "take rules back", "open rules", "open", "journal"}

func TestADaemonGoesOnWhoseSuccessorHasEnded(t *testing.T) {
	for name, step := range map[string]func(r *retiring, end func()){
		"its successor has ended": func(_ *retiring, end func()) { end() },
		"it is told to end":       func(r *retiring, _ func()) { r.leases.ended = true },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRetiring()
			p, end := alive(t)
			ctx, hangUp := context.WithCancel(t.Context())
			ended := r.begin(t, ctx, p)
			<-r.sent
			step(r, end)
			hangUp()
			require.ErrorContains(t, <-ended, "this one continues")
			require.Equal(t, append(said{"shut", "shut rules", "follow in rules", "follow"}, stayed...), *r.all)
			leave, err := r.LetIn(control.ChangesLeases)
			require.NoError(t, err)
			leave()
		})
	}
}

// Its connection has ended, but the successor is in the place: it has only not said so.
func TestASuccessorThatTookThePlaceIsBelievedWithoutAWord(t *testing.T) {
	r := newRetiring()
	r.Detached = func() bool { return true }
	p, _ := alive(t)
	ctx, hangUp := context.WithCancel(t.Context())
	ended := r.begin(t, ctx, p)
	<-r.sent
	hangUp()
	require.ErrorIs(t, <-ended, control.ErrWatched)
	require.Equal(t, "end events", (*r.all)[len(*r.all)-1])
}

func TestADaemonStaysThatCannotRetire(t *testing.T) {
	cause := errors.New("the cause")
	for name, spoil := range map[string]func(*retiring){
		"what rules cover is in flight": func(r *retiring) { r.Rules.Door = rules{said: r.all, inFlight: cause} },
		"a keeper does not follow":      func(r *retiring) { r.leases.failure = cause },
		"the client has hung up":        func(r *retiring) { r.refuse = cause },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRetiring()
			spoil(r)
			p, _ := alive(t)
			require.ErrorIs(t, <-r.begin(t, t.Context(), p), cause)
			require.Equal(t, stayed, (*r.all)[len(*r.all)-len(stayed):])
			require.False(t, r.UnderWay())
		})
	}
}

// Nobody changes what the successor is told of, and the successor waits for who is about to.
func TestTheLatchOfARetiringDaemonKeepsChangesOut(t *testing.T) {
	r := newRetiring()
	leave, err := r.LetIn(control.ChangesLeases)
	require.NoError(t, err)
	require.NoError(t, r.Reworded(nil))
	_, err = r.latch.begin(next, host.ProcessState{})
	require.NoError(t, err)
	_, err = r.latch.begin(next, host.ProcessState{})
	require.ErrorContains(t, err, "being replaced already")
	for what, admitted := range map[control.Change]bool{control.ChangesNothing: true, control.ChangesLeases: false, control.WaitsLong: false} {
		_, err := r.LetIn(what)
		require.Equal(t, admitted, err == nil, what)
	}
	require.ErrorContains(t, r.Reworded(errors.New("closing")), "is just being replaced")
	over, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	require.ErrorContains(t, r.latch.alone(over), "has not ended")
	leave()
	require.NoError(t, r.latch.alone(t.Context()))
	r.latch.cancel()
	require.False(t, r.UnderWay())
}
