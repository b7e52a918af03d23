// Package repair puts a worktree's lock files right, for jvsfs doctor.
//
// A record may be torn by a power failure, be another worktree's, or be from a clock that was wrong. Nobody writes then, for nobody can
// know who holds. This package says what is wrong, and does about it what is provably safe, under the gate of rule 4 of package lease.
// Renewing and releasing a lease that its command has left behind is no repair: that is an act of the holder ([lease.Store.RenewOrphan]).
//
// # Promises
//
//   - Every fault has the file's name, and what was done, or why nothing was.
//   - No claim is removed, and no file that says anything is lost: it is moved aside, and the new name is told. What is removed is a
//     temporary name whose content proves that it never counted.
//   - The tokens go on. A claim that cannot be read keeps its number; the repair takes the next one and releases it.
//   - Nothing is repaired under a holder. Who has the gate is named.
//   - A file of another worktree is not touched, whatever its id.
//   - An error in the middle, such as a full disk, names the file, and the next repair goes on from
//     there: a file that was moved aside stays where it is, and no step depends on another one's end.
//
// # Not promised
//
//   - Where other kernels write the store, the gate does not prove that nobody writes. A claim that cannot be read is repaired there
//     only by force, for whoever has made sure.
//   - What a torn record has said is not recovered.
//
// The package starts no goroutine, never logs, and knows leases, their records and nothing above.
package repair
