// Command jvsfs mounts a JVS repository, one of its worktrees or any other
// directory so that only the holder of the lease can write below it.
//
// One file holds one command. A command that concerns a mount talks to the
// daemon of that mount over a unix socket (protocol.go); a command that
// concerns a directory that is not mounted works on the lease records itself
// (local_*.go). The exit codes (exit.go), the error classes and the JSON that
// the commands print are a promise; the text for people is not.
package main
