// Package leases has the leases of a mount: each worktree that was seen, with its guard and its keeper (Registry, Worktree), what becomes of all
// of them when one daemon comes after another (following.go), and what is seen of them where the records may not answer (Survey).
package leases
