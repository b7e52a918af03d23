// Package audit keeps the audit chain: what has happened, in an order that nobody can change unseen.
//
// The chain is a file of JSON lines in the format of JVS. Each line carries the hash of the line before. Other programs append to the
// same file, all of them under flock. [Log] appends, [Verify] and [Tail] read, [Queue] holds what may be told a moment later. The
// [Anchor] lies with the lock records, which nobody else can write, and says how far the chain went.
//
// # Promises
//
//   - An event is on the disk when [Log.Append] returns without an error. With an error nothing of it is in the chain: a full disk, a
//     chain that others keep locked ([ErrLocked]), or a file that is none of ours is an error of class E_AUDIT_FAILED that names the file
//     and what to look at.
//   - A line that was changed, taken out or put in is a [Fault] of [Verify], and so is an end that was cut off, up to our last event.
//   - A torn line stays where it is. The next line begins after it, and follows the line before it.
//   - What others append, however much, costs an event bounded work. Where an event then does not find the line before it, it says so in
//     the chain (audit_gap).
//   - Events come in the order in which they were noted, whoever tells them.
//   - Nothing is written through a link, or to a file that has a second name.
//
// # Not promised
//
//   - Who may write the chain and the lock directory can write both anew.
//   - The anchor is not waited for. After a power failure it may lag, and a loss of the events after it is not noticed.
//   - What somebody has said of an event is not checked.
//   - What a [Queue] holds is lost with its process.
//
// The package starts no goroutine, never logs, and knows of the project nothing but the error that names a file.
package audit
