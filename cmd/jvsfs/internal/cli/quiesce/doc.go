// Package quiesce is jvsfs quiesce: it runs a command while nobody writes to a worktree. If the writes could not be held so long, it says
// so by its exit code.
package quiesce
