// Package mcp serves the Model Context Protocol on standard input and output, so that a coding agent can ask
// before it writes: who holds a lease, may I write there, take it, wait for it, give it back or to another one.
// It asks the daemons as the other commands do, and decides nothing itself. No daemon imports it.
package mcp
