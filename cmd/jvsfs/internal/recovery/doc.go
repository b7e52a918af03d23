// Package recovery finds what is left of a mount whose daemon is dead, or is to be replaced, and
// takes it away when the new mount is there. What the new daemon does meanwhile is in package
// daemon.
package recovery
