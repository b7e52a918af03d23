// Package process answers one question: who is this process?
//
// It reads /proc and cgroup files and asks the kernel (pidfd, perf events), and answers with values. It knows
// nothing of leases, epochs or guards: who counts as a holder is decided above.
//
// # Guarantees
//
//   - A process is a number and a start time ([ID]). A number alone is never taken for a process: what was read
//     under a number is believed only if the process had it before and afterwards, or while a descriptor pins it.
//   - What a caller cannot be seen to be (of another pid namespace) is [ErrUnseen], and never somebody else.
//   - One [ExitWatch] tells everybody in a daemon of the ends of processes. Constructors start no goroutine:
//     [ExitWatch.Run] is the only one, and its caller owns it.
//
// Not guaranteed is that a process still lives when an answer arrives, nor anything about a process that has cut
// every tie to its ancestors before anybody looked: /proc does not tell of it, and the kernel only to who may
// listen (see [Former]).
//
// # Words
//
//   - caller: who has made a request, as the kernel says it.
//   - creator: the process that has made something which is its own while it lives.
//   - former: of processes that belonged to something once, with what they have made since.
//   - subreaper: an ancestor that gets the orphans among its descendants for children (prctl(2)); [Identity.DescendsFrom]
//     finds them below it.
package process
