// Package lockop is what is done to a lease by hand, with a mount or without: who may do it,
// waiting for it, ending a daemon that keeps its gate, and the operations on records that no
// mount serves. It has no flags and prints nothing.
package lockop
