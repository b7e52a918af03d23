// Package tenure keeps who holds the locks of other programs that rules tell of (gate/lockfile). Each lock file has a
// guard of its own, as a worktree has: a tenure is an epoch of it.
package tenure
