// Command bench compares jvsfs with the directory below it and with other
// passthrough file systems, and draws what it found. scripts/bench.sh builds
// what it needs and starts it.
//
// The driver mounts every target over a directory of its own. One client process does the same work on each, in
// turn. So the machine and the time of day affect all targets of a round alike. The client holds the lease of
// jvsfs, and so do the tools that it starts.
//
// It is a module of its own so that the plot library stays out of jvsfs.
package main
