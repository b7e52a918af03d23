package harness

import (
	"fmt"
	"testing"
	"time"
)

// Patience bounds every wait for a condition. Long, because it is only used up by a failure: a two-core machine with a load of 100,
// or a disk that takes a second for each flush, is slow, not wrong.
var Patience = OnThisMachine(3 * time.Minute)

// patienceOf is shorter for a test that has failed: what it leaves may never go, and each check after it would wait for that.
func patienceOf(t testing.TB) time.Duration {
	if t.Failed() {
		return min(Patience, OnThisMachine(15*time.Second))
	}
	return Patience
}

// Eventually polls until ok says true. The pause between two looks is not
// synchronisation, only politeness towards the machine.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	EventuallyNoted(t, what, func() (bool, string) { return ok(), "" })
}

// EventuallyNoted is Eventually with a note on the last state. The failure shows it.
func EventuallyNoted(t testing.TB, what string, ok func() (bool, string)) {
	t.Helper()
	patience := patienceOf(t)
	deadline := time.Now().Add(patience)
	var note string
	for {
		var done bool
		if done, note = ok(); done {
			return
		}
		if time.Now().After(deadline) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	msg := fmt.Sprintf("did not happen within %s: %s", patience, what)
	if note != "" {
		msg += "\nlast seen: " + note
	}
	t.Fatal(msg)
}
