// Package exec is jvsfs exec: it holds the lease of a worktree while a command runs, through the daemon of its mount or, without a mount,
// by the lease records themselves (local.go, remote.go), and ends what the command has left.
//
// jvsfs run does this around a mount of its own (cli/run). How CMD is started and ended is in cli/child.
package exec
