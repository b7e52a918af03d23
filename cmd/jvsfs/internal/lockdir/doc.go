// Package lockdir checks a lock directory: who can forge records there, whether its file system can do what
// leases need, how much room is left, and the records. doctor calls it. If a mount hides the directory, the
// daemon calls it for doctor. mount calls it before it serves.
package lockdir
