// Package gate answers one question: may this operation go ahead?
//
// A Guard is the fence of one worktree. Every mutating call of the file system
// asks Guard.Enter before it touches the backing store and calls Pass.Leave
// when the backing call has returned. The lease keeper opens and closes the
// guard through lease.Fence.
//
// The package promises:
//
//   - Close returns only when no mutation that entered under the closed epoch
//     is still in flight, and after the hooks that drop kernel caches have run.
//     A mutation counts itself in flight first and looks at the state
//     afterwards, so the closer cannot miss it.
//   - A handle is judged by the epoch it was opened in and by nothing else. Once
//     that epoch is over the handle is refused for good, whatever its process
//     holds later.
//   - Whoever lost a lease by expiry or by a steal stays out until it acquires
//     again on purpose, even while the lease is free.
//   - Where a rule exempts a place (Exempt) anybody may write, and nowhere else: what
//     the file system cannot tell the place of is not exempt, and a handle is judged by
//     the place of its file each time.
//   - A refusal is counted and leaves one sentence for a person. So is what Observing
//     would have refused, by another counter and in other words.
//   - Every decision is made under one Enforcement mode. When a switch to a stricter one
//     has returned, nothing is in flight that only the mode before let in.
//   - While guards are frozen (Freeze) nothing is in flight that they let in, in whatever
//     epoch, but for what has the freeze itself.
//   - While an epoch is held up (Hold) its mutations wait and none is in flight. What has
//     waited for long enough, or would be one too many to wait, is refused.
//   - Who is willing to wait for a lease (Line) has it in the order of asking, and nobody
//     who comes later takes it before. A writer waits for as long as WaitOnConflict says,
//     without a lock of the kernel's where the call can be made again.
//
// It does not promise anything about writes that do not come through the mount,
// about a descriptor that a holder passes to somebody else on purpose, or about
// a descendant that has cut every tie to the holder (a double fork under scope
// tree): a file system cannot see these.
//
// The package does no input or output of its own apart from reading /proc.
package gate
