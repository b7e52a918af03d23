// Package gate answers one question: may this operation go ahead?
//
// A Guard is the fence of one worktree. Every mutating call of the file system asks Guard.Enter
// before it touches the backing store, and calls Pass.End when the backing call has returned. The
// lease keeper opens and closes the guard through lease.Fence.
//
// # Guarantees
//
//   - Close returns only when no mutation that entered under the closed epoch is in flight, and when
//     the hooks that drop kernel caches have run. A mutation counts itself in flight first and looks
//     at the state afterwards, so the closer cannot miss it.
//   - A handle is judged by the epoch that it was opened in, and by nothing else. When that epoch is
//     over the handle is refused for good, whatever its process holds later.
//   - Whoever lost a lease by expiry or by a steal stays out until it acquires again on purpose, even
//     while the lease is free.
//   - In an exempt place (Exempt) anybody may write. If the file system does not know the place, it
//     is not exempt. A handle is judged by the place of its file at each write.
//   - A refusal is counted and has one sentence for a person. What Observing would have refused has
//     its own counter and its own words.
//   - Every decision is made under one Enforcement mode. When a switch to a stricter mode has
//     returned, nothing is in flight that only the former mode let in.
//   - While guards are frozen (Enforcement.Freeze) nothing that they let in is in flight, in any
//     epoch, except mutations that come through the freeze itself.
//   - While a window is open (Guard.Quiesce) nothing changes in the worktree, or the window is broken
//     and says so. A mutation that waits for its end has no directory locked, if its call can be made
//     again.
//   - While an epoch is frozen (Guard.Freeze) its mutations wait and none is in flight. Waiters beyond
//     5 s, or beyond [MaxWaiting] of a mount, are refused.
//   - Those who wait for a lease (Guard.Queue) get it in the order of asking, and nobody who comes later takes
//     it before. A writer waits for at most WaitOnConflict, and without a lock of the kernel if the
//     call can be made again.
//
// Not guaranteed is anything about writes that do not come through the mount, about a descriptor
// that a holder passes to somebody else on purpose, or about a descendant that has cut every tie to
// the holder (a double fork under scope tree that nobody adopts, see WithSubreaper). A file system cannot see these.
//
// # Words
//
//   - epoch: the period of one grant. Mutations are counted in it, and handles belong to it.
//   - drain: wait until nothing that entered before is in flight.
//   - freeze, thaw: mutations wait, and none is in flight, as with fsfreeze(8). An epoch is frozen
//     while its lease is handed over. Guards are frozen while a name that they hang on changes.
//   - mode epoch: one enforcement mode while it lasts.
//   - former processes: those of a holder when it lost its lease, and what they have made since.
//   - late: of a mutation that took effect after its epoch was over (rule 10 of package lease).
//
// Who a process is says package process. This package does no input or output of its own.
package gate
