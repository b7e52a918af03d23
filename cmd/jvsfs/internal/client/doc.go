// Package client asks daemons: it finds the mount of a path, dials its control socket, and says
// what a daemon is that does not answer.
package client
