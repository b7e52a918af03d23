// Package cli is the command line of jvsfs. It builds the tree of commands, runs one line, prints a failure and returns the exit code.
//
// Each family of commands has a package of its own below this one, which is named after its command: jvsfs lock is in cli/lock. Some
// commands stand with the one that they belong to:
//
//	mount   mount, umount, recover, enforce
//	status  status, watch, top
//	agents  mcp, hook
//	child   the hidden command that becomes CMD of exec, quiesce and rules open
//	exec    the hidden command that tells refusals beside CMD
//
// This package has those that only it can have: help, version, the completions, the examples of all, and the helpers that mount(8) and
// umount(8) run. What families share is in console (streams, waits, signals), usage (arguments, and what is said of a wrong line), flags,
// lookup (what is there now), refusals and child. A family imports these, and another family only if it is that command with more
// around it (run: exec and mount).
//
// A command parses, calls a room of cmd/jvsfs/internal, and prints. It decides nothing about leases.
package cli
