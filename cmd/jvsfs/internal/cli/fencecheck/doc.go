// Package fencecheck is jvsfs fence-check: it proves that the fence agent of a configuration cuts a client off the store, by a write of
// that client to a file which was open before. The client is one to be spared: nothing lets it in again.
package fencecheck
