// Package wait is how the gate waits: for a lease, its release, the end of an epoch, a freeze, a window, a call
// that is made again.
//
// # Guarantees
//
//   - At most [Max] callers wait at a [Limit] at a time; further ones are told so at once ([Full]).
//   - A caller that is being killed stops waiting. Another signal does not end a wait: a call on a file is not
//     interrupted by it on other file systems, either.
//   - Every wait of a caller has an end: what it waits for, its patience, or its death.
//   - In a [Queue] the first one that is there has the turn. Who leaves takes no turn along.
//   - A call is answered with ESTALE at most once for one wait ([Retries]), and who does not come back is forgotten.
//
// Not guaranteed is an order among those who wait at a Limit without a Ticket. What is waited for, and why, the
// package does not know: it knows of no lease and no guard, and imports nothing of ours but package process.
package wait
