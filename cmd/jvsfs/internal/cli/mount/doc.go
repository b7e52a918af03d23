// Package mount has the commands about a mount as a whole: mount, with the daemon that it starts, umount, recover and enforce. What the
// daemon does while it serves is in internal/daemon.
//
// The helpers that mount(8) and umount(8) call are in cli (helper.go): they become these commands.
package mount
