// Package lease answers one question: whose turn is it to write to a worktree?
//
// It keeps the lock record of locking spec v6.3: same path, same field names, same policy, same error classes. It does not keep the
// spec's read-check-rename: with that, two stealers get one token, and a late renewal destroys its successor. Every step here stays
// right even if the process sleeps for a year between its decision and the step. There are three such steps: link(2) to a name that
// has never existed, a write to an inode that only this keeper writes, and flock(2), which the kernel drops after the last thread of
// a process has ended.
//
// # Words
//
//   - A lease is the right to write to one worktree until a deadline. Its holder renews it.
//   - A fencing token is the number of a lease. Every new lease of a worktree has a higher token.
//   - An epoch is the time in which a [Fence] lets the writers of one token pass. To freeze an epoch ([Fence.Freeze]) is to make its
//     mutations wait; to thaw it is to let them go on. An epoch has drained when no mutation of it is in flight.
//   - A claim is the file of one token. The head is the claim with the highest token.
//   - The view is <id>.lock, the path that the spec names. It shows the head to other tools.
//   - The gate is the lock file <id>.gate: who holds the lease has LOCK_SH on it, who takes the lease needs LOCK_EX. The turn is
//     <id>.turn: takers queue for it, then ask for the gate.
//   - A [Keeper] takes, renews and loses the lease for one process.
//   - A lease is taken by writing when a mount takes it for the first writer ([Holder].Auto), and on purpose by a command.
//   - A foreign tool writes <id>.lock without the rules below.
//   - An orphaned lease was taken by a command without a mount, which has ended. It has a record, but no keeper and no fence.
//   - Adoption restores a lease whose daemon was killed, under its old token.
//   - Repair puts a worktree's files right for jvsfs doctor. It moves files aside, and removes no claim.
//   - The boot clock never steps and counts suspend (CLOCK_BOOTTIME). t0 is its reading from before a record was written.
//   - Tier A is a file system that only this kernel writes, so flock(2) reaches every writer. Elsewhere flock proves nothing.
//   - Silence is lease + skew + grace. A record that did not change for so long has no holder that counts on it.
//
// # Promises
//
//   - Fencing tokens of one worktree strictly grow: over release, crash, and deletion of <id>.lock.
//   - No two holders ever have the same token.
//   - Nobody is robbed before lease + skew + grace have passed on the wall clock, by the larger of both policies.
//   - A keeper's fence is closed and drained before the kernel lets another keeper on this kernel take a higher token, however long
//     anything is paused (tier A).
//   - A record that cannot be read is never deleted or replaced to get to a yes.
//
// # Not promised
//
//   - Several hosts are not fenced from each other if their file system has no lock manager that all of them share. There a write
//     that is delayed for more than skew + grace + the renew interval may land late. No lock file can do better.
//   - A foreign tool is not fenced. It is noticed, and the next token is above its own.
//   - Nobody checks that a holder is who it says. <holder_id> is a message for people. Nonce, session and token identify.
//
// # Files of one worktree
//
//	<id>.lock                the view: a hard link to the head. Absent while nobody holds. It decides nothing.
//	<id>.claim.<20 digits>   a claim. It is born complete by link(2) and never renamed. Old ones are swept (rule 15).
//	<id>.lock.tmp.<nonce>    a record that is being born, or a view that is being moved.
//	<id>.taint.<token>.<nonce>  a late write was found (rule 10). It stays until a person has looked at it.
//	<id>.gate, <id>.turn     flock files, created once, never removed.
//	<id>.lock.aside.<nonce>, <id>.claim.<20 digits>.aside.<nonce>  what a repair moved away.
//
// A name is read from its end (record.ParseName). An id may hold dots, but no id makes one worktree's file another's. What is read has
// bounds (record/bounds.go). The file audit.anchor beside them says how far the audit chain goes.
//
// # Rules
//
//  1. Authority. The current token is the head's. A session holds token t if claim t carries its nonce, is not marked released, and
//     no higher claim exists.
//  2. Claim. A taker looks at the head and decides by rules 5 to 7. It takes the gate (rule 4) and looks again. It reads t0. It
//     writes and fsyncs a temporary record with a fresh nonce, and links it to the name of the next token. It ignores what link
//     returned and reads the name back: if its own nonce is there, it has won. Then it publishes the view. While a higher claim
//     exists it publishes that one instead. The deadline is t0 + lease - renew interval. If that has come before the fence opens,
//     the claim is released. A fence that takes a lease for a writer first checks that the writer could write without a fence.
//     If the view has a token above the head (a foreign tool), the next token is above that.
//  3. One writer. Nobody overwrites a successor. Renewal and release write the own claim's inode only, through the descriptor that
//     is open since the claim.
//  4. The gate. A keeper holds LOCK_SH on <id>.gate from before its fence opens until the fence is closed and drained. A taker holds
//     LOCK_EX from the second look until the view is published. It asks for LOCK_EX while it holds LOCK_EX on <id>.turn. The wait is
//     bounded. The error names who stands in the way, as far as this kernel knows.
//  5. Expired. A takeover needs this: the wall clock is past lease_expires_at + max_clock_skew + steal_grace, and was read before
//     the record; or the record is marked released.
//  6. Stopped. A takeover needs this, too: the taker had LOCK_EX on a file system of this kernel (tier A), or the record's bytes were
//     seen unchanged for one silence of boot time, from after one read to before a later one.
//  7. Clock skew. A taker gets E_CLOCK_SKEW_EXCEEDED in four cases. (a) last_renewed_at is further in the future than the bound, by
//     the wall clock from after the read: a store that makes a read wait is no wrong clock.
//     (b) The record changed while rule 5 called it expired. (c) Wall and boot clock moved apart by more than half the bound while it
//     watched. (d) The store stamps times itself, and its stamps contradict the record by more than the bound. Case (d) ends after
//     one more silence: a slow last renewal looks the same, and must not lock the worktree for ever. The spec's
//     abs(now - lease_expires_at - lease_duration) is not computed. One static record holds no second clock, and read literally the
//     formula allows a steal only between 28 and 32 s after expiry.
//  8. Renew. The keeper reads t0, then writes and fsyncs its own claim. The renewal counts if no higher claim exists and the old
//     deadline has not passed when it is complete. Otherwise the fence closes at once. A later renewal within the old deadline
//     reopens it. Where another machine keeps the lock of the gate, the renewal also asks whether that still has our LOCK_SH: it may
//     have been started again, and then knows nothing of it. If it has not, that is a renewal that failed.
//  9. Losing. The order is always: close, wait until nothing is in flight, invalidate caches, report, drop LOCK_SH. The claims alone
//     say who lost against its will: a claim that is not released, and either is the head and over, or has a successor that is
//     another holder's and does not say handed_over. Such a holder stays out until it takes a later lease on purpose.
//  10. Late writes, on stores that other kernels write too. A mutation is made durable. Then the fence asks Grant.Late for a higher
//     claim and looks at the deadline. One look may answer for several mutations, if all of them had taken effect before it began. A
//     late mutation fails with EIO, is audited as late_write, and leaves <id>.taint.<token>.<nonce>. What the store does not take
//     then is told again until it does. The loss follows. A host that relies on the agents of the others (rule 17) makes nothing durable here
//     and asks for the deadline alone.
//  11. Release. The keeper loses (rule 9), marks its claim released and expired, fsyncs, and takes the view away: it renames the view
//     aside, looks at it, and puts it back if it is another's. A session that does not hold gets E_LOCK_NOT_HELD and changes nothing.
//     On a file system of this kernel, neither step is waited for on the disk if the holder took the lease by writing and has ended:
//     everybody whom it concerns ends with the kernel.
//  12. Takeover. acquire_seq + 1, token + 1. The audit event of a steal comes first: no event, no steal. A takeover without proof
//     that the old holder has drained is marked unclean. A lease that is taken by writing, and released when its holder has ended,
//     may be told to the audit 50 ms later, several events at once.
//  13. Handover, to another holder on this host. The keeper freezes its epoch. Mutations wait for a moment, then they are refused;
//     none is in flight. What was written is made durable. The keeper still holds LOCK_SH. If no renewal has failed meanwhile, it
//     claims the next token for the new holder (rule 2 without the gate: nobody else can have LOCK_EX). After a failure before the
//     link the old epoch thaws. From the link on it never does: it is closed (rule 9), and the new one opens. The audit event comes
//     first: no event, no handover.
//  14. Offer, to another host. The keeper freezes its epoch and makes it durable as in rule 13. It writes the host's name into its own
//     record and drops LOCK_SH. It goes on renewing. A taker on that host, on purpose, may take the lease as if it were released
//     (rules 2 and 4, the event first). If nobody takes it, the keeper takes LOCK_SH again, looks for a successor, and writes the
//     record without the offer. Only then the epoch thaws. If it has ended meanwhile it is closed (rule 9). Where flock proves
//     nothing, a taker has skew + grace of its boot clock, from before its look until it holds; if it needs longer it lets its claim
//     run out. The keeper waits for twice that time after it wrote the record, and then looks once more. Until then the record keeps
//     the time of the offer, and nobody adopts the lease.
//  15. Sweeping. On a file system of this kernel the keeper that holds the lease, and so has LOCK_SH, removes old claims, the oldest
//     first. The newest [ClaimsKept] stay. Behind them a claim is removed if it says nothing: it was taken by writing and released,
//     and the one before it is gone or was released, too, so nobody asks it how that one ended. Of the others the newest [PastKept]
//     stay. Nobody can be about to link a claim meanwhile (rule 4), so no removed name is a next token. What cannot be read stays.
//  16. Going on, after a pause (suspend, a debugger, a stopped daemon), on a file system of this kernel. If the deadline comes under an
//     open fence, LOCK_SH was held all the time, so nobody has taken the lease. If the holder lives, the keeper closes and drains,
//     looks for a successor, and claims the next token for the same holder (rule 2 without the gate, as in rule 13). Nothing passes
//     from the deadline until the fence opens again. If the holder alone is stopped, its keeper closes a little before the deadline
//     (rule 9), and others may take the lease. When the holder is resumed, its keeper takes the lease as any taker does (rules 2 to
//     4), if the own claim is still the head. So it does if another keeper followed, for LOCK_SH says nothing about that one's
//     fence. In each case nobody was in between, so what the holder opened under the earlier tokens goes on. The audit event comes
//     first: no event, no going on. If a renewal had failed, or the lease was offered, or any of this fails, the lease is lost (rule 9).
//  17. Cutting off. Where an agent is configured, here or by the holder's host, and other kernels write the store: a taker of another
//     host's unreleased lease has that host's client cut off the store before it asks for the gate. It does so after rules 5 to 7, and the
//     silence of rule 6 is then one lease: no renewal came in time by then, and what is still on its way never lands, so that skew and
//     grace, which rule 5 has waited for, need not be waited for once more. The head is looked at again right before the agent, for others
//     may run first. Under the gate the record must be the very one whose host was cut off, not longer than a lease ago, or name a client of
//     the store that was cut off from here for another lease, since this one was renewed last: that client never comes back. The takeover is
//     clean then. A failure is no takeover; the agent runs again after a pause that grows. The audit event comes before the agent: no
//     event, no cut. A lease of this kernel has the gate, and one of this host before a restart has ended with its kernel: no agent cuts
//     off its own host. Only a record that belongs to the mount's user has anybody cut off. A record says whether its host has an agent
//     configured. If so, a taker that has none, or may not run it, does not take the lease over. So a holder may be told to rely on it: a
//     mutation that had its answer before the deadline came before every taker, and one that is on its way after the cut never lands. What
//     the client of the store still keeps then must reach the store before the fence counts as closed (rule 9), or a successor would begin
//     without it. Such a holder goes on after a restart of its keeper only with a record that says that there is an agent. If something did
//     not reach the store, and the store has not refused it, it may land at any time: that keeper gives nothing back or away any more.
//  18. Taking back, where other kernels write the store. A lease that a former life of this host has left unreleased (its daemon was
//     killed, the store's client or the host was started again) has the next taker on another host cut this host off, although it is healthy. So a
//     host takes such a lease itself, when rules 5 to 7 let it, and releases it at once (rule 11). It is a takeover like any: the gate,
//     the event first, unclean, a token of its own, so whoever lost the lease is seen to have lost it (rule 9). It takes the very record
//     that it has seen before, looked at again under the gate, of its own kernel or its own host name: so it takes nothing that somebody
//     has claimed, renewed, released or is offered meanwhile, and no agent runs (rule 17). Nor does it while a taint of this host's says that
//     something may reach the store yet: then another host's agent shall run.
//
// # Where each rule stands
//
//	1 authority   judge.go, successor.go        8 renew         renewal.go, keeper_run.go
//	2 claim       steal.go, claim.go, view.go   9 losing        ending.go, past.go
//	3 one writer  claim.go                      10 late writes  late.go, sharedlook.go
//	4 the gate    gatelock.go                   11 release      release.go
//	5 expired     judge.go, record/policy.go    12 takeover     steal.go, record/birth.go, audit/queue.go, audit/log.go
//	6 stopped     observe.go                    13 handover     transfer.go, handover.go
//	7 clock skew  judge.go, observe.go          14 offer        transfer.go, offer.go
//	                                            15 sweeping     sweeper.go, keeper_run.go
//	                                            16 going on     resume.go
//	                                            17 cutting off  fencing.go
//	                                            18 taking back  reclaim.go
//
// Whose turn it is, a keeper asks of an [Authority] (authority.go). The rules say how the claims of the lock directory are one
// (files.go). Package lease/etcd is another, with rules of its own; the rest of a keeper is the same, and so are the gate and the fence.
// What such an authority needs of this package is in externalauthority.go.
//
// What a tier changes stands in tier.go, bounds of what is read in record/bounds.go, adoption in adopt.go, two keepers of one lease in
// follow.go, orphaned leases in orphan.go, what a repair (package lease/repair) works with in undergate.go. The keeper's state and calls
// are in keeper.go, its loop in keeper_run.go, its errors in refusal.go.
//
// # Adoption
//
// If a daemon was killed, another process may go on with its lease ([Keeper.Adopt]). That is a renewal by another process, for the
// token stays. It keeps the rules of a renewal and of a claim. It takes LOCK_EX first, which proves that the dead daemon's fence has
// drained (4). The very claim must still be the head, and not be released (1). The dead fence's deadline, on the same boot clock, must
// not have passed (8). The clocks must not have moved apart (7). The holder must live. This host's client of the store must be the one that
// the record names (17): what an earlier one had read may land at any time, so its lease runs out, unreleased. Nothing is written: the
// fence opens until the old deadline, under LOCK_SH, and the next renewal is an ordinary one. If any of this fails, the lease is lost like
// any (9).
//
// While a daemon is being replaced, two keepers of one machine have one lease under one token ([Keeper.Join], [Keeper.Follow]). One
// leads and keeps all rules. The other follows: it has a LOCK_SH of its own (4), its deadline is never later than that of the leader's
// fence (8), it drains before it drops its lock (9), and it never writes. This is for tier A alone: elsewhere the lock keeps nobody
// waiting.
//
// The package starts no goroutine, never logs, and imports nothing of the project but what a record says
// (package lease/record) and the queue of the audit chain (package lease/audit).
package lease
