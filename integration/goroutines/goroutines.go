// Package goroutines tells a test what the goroutines of its process wait for. Only tests import it (cmd/jvsfs/imports_test.go).
//
// A test that something does not happen must not wait for some milliseconds: where the machine is slow, what is wrong has not begun by then, and
// the test passes all the same. [MustBlock] waits until whoever must wait does so. In a bubble of testing/synctest, synctest.Wait says it better.
package goroutines

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

const (
	patience = time.Minute
	pause    = time.Millisecond // between two looks: each stops the program for a moment
)

// blocked are the states in which a goroutine waits for another one, or for a time, at a channel (runtime/runtime2.go, waitReasonStrings).
// Locks are not among them: a goroutine may wait for one for a moment, whatever it does afterwards.
var blocked = [][]byte{[]byte("select"), []byte("chan receive"), []byte("chan send")}

// MustBlock demands that the call that tells its end in done does not end: it returns when a goroutine waits at a channel in the function, or in
// what that calls, and fails when done has a value or is closed. The function is named as in a stack, from its package: "tenure.(*Book).Open". What wakes that
// goroutine without ending its wait (a signal, a context) must have come before. Anybody who waits in the function counts: of a function in which
// others may wait, name one that it calls. A look stops all goroutines, so no other one may be inside of a call on a mount that this process serves
// and that Go does not know to block (a fork in a directory of it, a page of a mapping).
func MustBlock[T any](t testing.TB, done <-chan T, function string) {
	t.Helper()
	if err := mustBlock(done, function, patience); err != nil {
		t.Fatal(err)
	}
}

func mustBlock[T any](done <-chan T, function string, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		all := stacks()
		waits := slices.ContainsFunc(all, func(g []byte) bool { return isBlocked(g) && isIn(g, function) })
		select { // after the look: who waited in it may have been another one
		case got := <-done:
			return fmt.Errorf("it did not wait in %s: %v", function, got)
		default:
		}
		if waits {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nobody waits in %s:\n%s", function, bytes.Join(all, []byte("\n\n")))
		}
	}
}

// MustLeave demands that no goroutine stays in these functions.
func MustLeave(t testing.TB, functions ...string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		stays := slices.DeleteFunc(stacks(), func(g []byte) bool {
			return !slices.ContainsFunc(functions, func(name string) bool { return isIn(g, name) })
		})
		if len(stays) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("some stay in %q:\n%s", functions, bytes.Join(stays, []byte("\n\n")))
		}
	}
}

// stacks are those of all goroutines but the caller's.
func stacks() [][]byte {
	for size := 1 << 20; ; size *= 2 {
		text := make([]byte, size)
		if n := runtime.Stack(text, true); n < size {
			return bytes.Split(bytes.TrimSpace(text[:n]), []byte("\n\n"))[1:]
		}
	}
}

// isBlocked reads the first line: "goroutine 7 [select, 2 minutes]:". The state ends at a comma, a bracket or a parenthesis ("(durable)").
func isBlocked(stack []byte) bool {
	_, state, _ := bytes.Cut(stack, []byte("["))
	state = bytes.TrimSpace(state[:max(0, bytes.IndexAny(state, ",](\n"))])
	return slices.ContainsFunc(blocked, func(b []byte) bool { return bytes.Equal(b, state) })
}

// isIn reports whether a function, or one within it, is being called there. Who has begun the goroutine is the last line, and does not count.
func isIn(stack []byte, function string) bool {
	stack, _, _ = bytes.Cut(stack, []byte("\ncreated by "))
	for line := range bytes.Lines(stack) {
		if _, rest, is := bytes.Cut(line, []byte("/"+function)); is && (rest[0] == '(' || rest[0] == '.') {
			return true
		}
	}
	return false
}
