// Package record answers one question: what does a lock record say?
//
// A record is the text of a claim (locking spec v6.3, lock record schema): who has which token of which worktree, and until when. This
// package knows its form and its bounds, the names of the files beside it, and how the next one is born. Whose turn it is by the
// records, package lease says. Nothing here opens a file, asks a clock, or knows a rule.
//
// # Promises
//
//   - A record is believed whole or not at all. One that is torn, empty, of another worktree, or outside of its bounds is an error of
//     [Parse] that says what is wrong with it, never a record with something left out. Whoever read the file adds its name and the way
//     out ([Error].File, [Error].Next), and deletes or replaces nothing.
//   - What [New] makes is within the bounds, whatever the holder is called, and fits [Size]: a rewrite is one write in place, which a
//     full disk does not refuse.
//   - Fields of other programs survive a rewrite, as long as they fit.
//   - A name has one kind and one id ([ParseName]), and two ids have no name in common.
//   - A number in a claim's name that does not fit is [TooHigh]: it raises the head, and never hides it.
//
// # Not promised
//
//   - A record is not signed. Who may write the lock directory may write a record that reads well; [Holder] is what it says.
//   - A record that reads well may be old by now, or not be the head.
//   - The times in it are its writer's clock's. Their order is checked, not that they are true.
//   - Not every [Error] is about a record. It is here because the error of everybody who stands in the way shows the record that does.
//
// The package starts no goroutine, never logs, and imports nothing of the project.
package record
