// Package lookup looks up what is there now: the mount at a path, who holds a lease, how many changes are in flight, and whether a holder
// is a shell of whoever asks. Commands say it while they wait, after Ctrl-C, and in the next step of a failure.
//
// It changes nothing, and what it says may be over when it is read.
package lookup
