// Package lockop has the operations of the lock commands, with a mount or without: who may do them, waiting for
// a lease, ending a daemon that keeps its gate, and the work on records that no mount serves. It has no flags
// and prints nothing.
package lockop
