//go:build race

package engine

import (
	"fmt"
	"os"
	"runtime/debug"
)

// Checked says that each acquisition is checked against the order.
const Checked = true

// outOfOrder ends the program: a panic of one request is an answer (EIO), and who holds what would stay so.
var outOfOrder = func(what string) {
	fmt.Fprintf(os.Stderr, "jvsfs: the order of locks is broken: %s\n%s", what, debug.Stack())
	os.Exit(1)
}
