// Package doctor checks the machine, the mounts and the records of worktrees. It asks daemons, and never is
// one. A daemon checks what only it can see, with package lockdir.
package doctor
