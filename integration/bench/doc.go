// Command bench compares jvsfs with the directory below it and with other
// passthrough file systems, and draws what it found. scripts/bench.sh builds
// what it needs and starts it.
//
// The driver mounts every target over a directory of its own and lets one client
// process do the same work on each, in turn: what machine and time of day do to
// one target in a round they do to all. The client holds the lease of jvsfs, and
// so do the tools that it starts.
//
// It is a module of its own so that the plot library stays out of jvsfs.
package main
