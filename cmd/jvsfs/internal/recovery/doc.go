// Package recovery finds a mount whose daemon is dead or is to be replaced, and detaches it when the new mount
// is in place. The steps of the new daemon in between are in package daemon.
package recovery
