// Package guardian is a process beside a daemon that ends the connection to the kernel when the daemon was killed and cannot die. It promises
// nothing for a daemon that lives and hangs.
package guardian
