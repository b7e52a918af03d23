// Command jvsfs mounts a JVS repository, one of its worktrees or any other
// directory so that only the holder of the lease can write below it.
//
// One file here has one command, or one of the ways in which it works (exec_*.go): it
// parses, calls a room below internal, and prints. A command that concerns a mount asks
// the daemon of that mount over a unix socket (internal/client, internal/api); one that
// concerns a directory that is not mounted works on the lease records itself
// (internal/lockop). imports_test.go says which room may import which.
//
// The exit codes (internal/api/failure.go), the error classes and the JSON that the
// commands print are a promise; the text for people is not.
package main
