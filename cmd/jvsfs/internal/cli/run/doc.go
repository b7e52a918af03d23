// Package run is jvsfs run: it mounts a directory if it is not mounted, holds the lease for a command as jvsfs exec does, shows what was
// changed, and leaves nothing. --worktree makes a git worktree first.
package run
