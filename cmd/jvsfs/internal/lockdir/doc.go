// Package lockdir looks at a lock directory: who can forge records there, whether its file
// system does what leases need, how much room is left, and what the records say. Doctor looks,
// the daemon looks for doctor where a mount hides the directory, and mount looks before it
// serves.
package lockdir
