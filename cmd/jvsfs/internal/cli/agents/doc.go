// Package agents has the commands for coding agents and their harnesses: jvsfs mcp, which serves the Model Context Protocol, and jvsfs
// hook, which a harness asks before a tool writes.
//
// What hook cannot judge it lets pass, with a note: a mistake in an event is no refusal.
package agents
