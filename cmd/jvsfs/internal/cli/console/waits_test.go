package console

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// On a pipe each tick is a line, with what there is then.
func TestAWaitOnAPipePrintsALineEachTime(t *testing.T) {
	var said bytes.Buffer
	looks := []string{"the first", "the second\x1b[2J"}
	w := NewWaits(Streams{Err: &said}, func(context.Context) string {
		what := looks[0]
		looks = looks[1:]
		return what
	})
	w.begun = time.Unix(100, 0)
	ctx, end := context.WithCancel(t.Context())
	tick, done := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(done)
		w.run(ctx, tick)
	}()
	tick <- time.Unix(110, 0)
	tick <- time.Unix(120, 0)
	w.Note("a note")
	require.Eventually(t, func() bool { // the second look is over
		w.mu.Lock()
		defer w.mu.Unlock()
		return bytes.Count(said.Bytes(), []byte("waiting")) == 2
	}, time.Minute, time.Millisecond)
	end()
	<-done
	for _, line := range []string{"jvsfs: waiting 10s for the first\n", "jvsfs: waiting 20s for the second", "jvsfs: a note\n"} {
		require.Contains(t, said.String(), line)
	}
	require.NotContains(t, said.String(), "\x1b")
}

// A short wait says nothing, and gives the error on.
func TestAShortWaitPrintsNothing(t *testing.T) {
	var said bytes.Buffer
	want := errors.New("x")
	err := NewWaits(Streams{Err: &said}, WaitsFor("nothing")).During(t.Context(), func() error { return want })
	require.Same(t, want, err)
	require.Empty(t, said.String())
}

func TestAnInterruptSaysWhatThereIs(t *testing.T) {
	now := func(context.Context) string { return "nothing is left" }
	require.ErrorContains(t, Interrupted(context.Canceled, now), "interrupted: nothing is left")
	other := &api.Failure{Class: api.ClassUsage, Message: "no"}
	require.Same(t, other, Interrupted(other, now))
	require.NoError(t, Interrupted(nil, now))
	require.EqualError(t, Interrupted(context.Canceled, func(context.Context) string { return "" }), api.AsFailure(context.Canceled).Error())
}
