// Package doctor checks the machine, the mounts and the records of worktrees. It asks daemons,
// and never is one: what only a daemon sees, the daemon checks with package lockdir.
package doctor
