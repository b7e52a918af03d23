package lease

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// These words are promises: clients, metrics and journals of other releases know them, and the numbers, too.
func TestTheWordsAndNumbersOfLossesStay(t *testing.T) {
	for i, want := range []struct {
		kind       LossKind
		name, text string
		event      EventKind
		givesNot   bool
	}{
		{kind: LossReleased, name: "released", text: "released", event: "release"},
		{kind: LossExpired, name: "expired", text: "expired", event: "expire", givesNot: true},
		{kind: LossSuperseded, name: "superseded", text: "superseded", event: "superseded", givesNot: true},
		{kind: LossRenewFailed, name: "renew_failed", text: "renew failed", event: "renew_failed", givesNot: true},
		{kind: LossHolderGone, name: "holder_gone", text: "holder gone", event: "release"},
		{kind: LossIdle, name: "idle", text: "idle", event: "release"},
		{kind: LossReplaced, name: "replaced", text: "replaced", event: "release", givesNot: true},
		{kind: LossHandedOver, name: "handed_over", text: "handed over", event: "release", givesNot: true},
		{kind: LossResumed, name: "resumed", text: "resumed", event: "resume", givesNot: true},
		{kind: LossPaused, name: "paused", text: "paused", event: "expire", givesNot: true},
	} {
		require.EqualValues(t, i, want.kind)
		require.Equal(t, want.name, want.kind.Name())
		require.Equal(t, want.text, want.kind.String())
		require.Equal(t, want.event, want.kind.event())
		require.Equal(t, !want.givesNot, want.kind.gives(), want.name)
	}
	for _, unknown := range []LossKind{-1, LossKinds} { // a journal of a later release may have one
		require.Equal(t, "lost", unknown.Name())
		require.Contains(t, unknown.String(), "loss(")
		require.False(t, unknown.gives())
	}
}
