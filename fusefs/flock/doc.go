// Package flock takes the file locks of a mount's callers (flock(2), fcntl(2), and fcntl's locks of open file descriptions) on the
// backing file, with an open file description of its own for each owner. So they conflict with those of all mounts of the directory and of
// native processes, and end with the daemon.
//
// It knows files, open files and owners by their numbers, and has all that it remembers of them in its own table: an open file is known
// from its first lock until Released, a file as long as it has an owner. It knows who waits for whom in this mount, so it wakes them and
// finds their deadlocks; for everybody else's locks it asks again and again. What one user may have is bounded.
//
// It does not judge who may lock, and says nothing of what the kernel may keep of a file that is locked: both are its caller's.
package flock
