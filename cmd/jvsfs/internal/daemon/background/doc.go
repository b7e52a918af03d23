// Package background starts a daemon, and makes a process one: in a session of its own, with no directory kept busy, with a priority above
// that of those who wait for it. Who starts it learns when its mount serves, or why it does not. It knows nothing of mounts.
package background
