// Command jvsfs mounts a JVS repository, one of its worktrees or any other
// directory so that only the holder of the lease can write below it.
//
// Each file here has one command, or one way in which a command works (exec_*.go). It parses, calls a room
// below internal, and prints. A command about a mount asks the daemon of that mount over a unix socket
// (internal/client, internal/api). A command about a directory that is not mounted works on the lease records
// itself (internal/lockop). imports_test.go says which room may import which.
//
// The exit codes (internal/api/exit.go), the error classes and the JSON that the commands print are a promise.
// The text for people is not.
package main
