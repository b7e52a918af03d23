// Package client asks daemons: it finds the mount of a path, dials its control socket, and says whether a
// daemon that does not answer is dead or silent.
package client
