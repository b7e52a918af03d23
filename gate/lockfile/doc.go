// Package lockfile knows the lock files of other programs as rules tell of them: which name is a lock, what it
// guards, who may take it away, and what is never changed.
//
// It promises: a rule that Compile accepts gives each guarded name exactly one lock; Judge decides by values alone.
// It does no I/O, reads no clock and knows no process. What is open and who holds what is kept by gate/tenure.
//
// It does not promise that a program's protocol is sound: it makes sure that nobody breaks it by removing, replacing or
// ignoring a lock that is held.
package lockfile
