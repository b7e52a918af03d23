// Package events tells readers what happens on a mount, in order and under numbers that grow by one: leases, refusals, switches of the mode,
// lock files of rules. Nobody who notes an event waits for a reader; a reader that is too slow is told what it has missed. Nothing is kept
// beyond the life of the daemon.
package events
