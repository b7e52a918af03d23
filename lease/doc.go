// Package lease answers one question: whose turn is it to write to a worktree?
//
// It keeps the lock record of locking spec v6.3 (same path, same field names, same policy, same error classes), but not
// the spec's read-check-rename, with which two stealers get one token and a late renewal destroys a successor. Every step
// here is one that a process which slept for a year between its decision and the step cannot do wrongly: link(2) to a name
// that has never existed, a write to an inode that it owns alone, and flock, which the kernel drains and drops at death.
//
// # Promises
//
//   - Fencing tokens of one worktree strictly grow: over release, crash, and deletion of <id>.lock.
//   - No two holders ever have the same token.
//   - Nobody is robbed before lease + skew + grace have passed on the wall clock, by the larger of both policies.
//   - A fence that a [Keeper] opened is closed and drained before the kernel lets another keeper on this kernel take a
//     higher token, however long anything is paused (tier A).
//   - A record that cannot be read is never deleted or replaced to get to a yes.
//
// # Not promised
//
//   - That several hosts are fenced from each other where the file system has no lock manager that all of them share: there
//     a write delayed for longer than skew + grace + the renew interval may land late. No lock file can do better.
//   - That a tool which writes <id>.lock without these rules is fenced. It is noticed, and its token is continued above.
//   - That a holder is who it says: <holder_id> is a message for people. Nonce, session and token identify.
//
// # Files of one worktree
//
//	<id>.lock                the spec's path: a view, hard link to the head claim. Absent while nobody holds. Never authority.
//	<id>.claim.<20 digits>   one for each token granted, born complete by link(2), never renamed; old ones are swept (rule 15).
//	<id>.lock.tmp.<nonce>    a record being born, or a view being moved.
//	<id>.taint.<token>.<nonce>  a late write was found (rule 10); stays until somebody has looked at it.
//	<id>.gate, <id>.turn     flock files, created once, never removed.
//	<id>.lock.aside.<nonce>, <id>.claim.<20 digits>.aside.<nonce>  what a repair moved away.
//
// Names are read from their end (parseName), so no id, whatever dots it has, makes one worktree's file another's. What is read has
// bounds (bounds.go). Beside them lies audit.anchor: how far the audit chain goes.
//
// # Rules
//
//  1. Authority. The current token is the highest claim. A session holds t if claim t carries its nonce, is not marked
//     released, and no higher claim exists.
//  2. Claim. Look at the head; decide by rules 5 to 7; take the gate (rule 4); look again; sample t0 on the boot clock; write
//     and fsync a temporary record with a fresh nonce; link it to the name of the next token; ignore what link returned and
//     read the name back. Own nonce: won. Then publish the view, and while a higher claim exists publish that one instead.
//     The deadline is t0 + lease - renew interval; a claim that would arm after it is released, not armed.
//     A fence that takes a lease for a writer makes sure first that the writer could write without a fence.
//     A view with a token above the head (a tool without these rules) is continued above.
//  3. Nobody overwrites a successor. Renewal and release write the own claim's inode only, through the descriptor kept since
//     the claim.
//  4. The gate. A keeper holds LOCK_SH on <id>.gate from before its fence opens until after it is closed and drained; a taker
//     holds LOCK_EX from the second look until the view is published, and asks for it under LOCK_EX on <id>.turn. The wait
//     is bounded; whoever stands in the way is named.
//  5. Expired, necessary for a takeover: the wall clock, sampled before the record was read, is past
//     lease_expires_at + max_clock_skew + steal_grace; or the record is marked released.
//  6. Stopped, necessary too: LOCK_EX was had on a file system of this kernel (tier A), or the record's bytes were seen
//     unchanged for lease + skew + grace of boot time, from after one read to before a later one.
//  7. Clock skew. Refused with E_CLOCK_SKEW_EXCEEDED: last_renewed_at lies more than the bound in the future; the record
//     changed while rule 5 called it expired; wall and boot clock moved apart by more than half the bound while watching; and,
//     where the store stamps times itself, its stamps contradict the record by more than the bound (until the record has been
//     watched for one silence more: a slow last renewal looks the same, and must not lock the worktree for ever). The spec's
//     abs(now - lease_expires_at - lease_duration) is not computed: one static record holds no second clock, and read
//     literally it allows a steal only between 28 and 32 s after expiry.
//  8. Renew. Sample t0; write and fsync the own claim; it counts only if no higher claim exists and the old deadline has not
//     passed at completion. Anything else closes the fence at once; only a later renewal within the old deadline reopens it.
//  9. Losing, always in this order: close, wait until nothing is in flight, invalidate caches, report, drop LOCK_SH. Who lost
//     against its will stands in the claims, and nowhere else: a claim that is not released, and is the head and over, or has a
//     successor that neither says handed_over nor is the same holder's. It stays out until a later claim of its own is on purpose.
//  10. Late writes (stores that other kernels write too). A mutation is durable before it is judged; then the fence asks
//     Grant.Late for a higher claim and looks at the deadline. What is late is not acknowledged (EIO), is audited as late_write,
//     and leaves <id>.taint.<token>.<nonce>; the loss follows.
//  11. Release. Lose (rule 9), mark the own claim released and expired, fsync, take the view away: rename aside, look, put back
//     if it is not ours. Who does not hold gets E_LOCK_NOT_HELD and changes nothing. Where the holder took the lease by writing and has
//     ended, on a file system of this kernel, neither is waited for on the disk: with the kernel all whom it concerns are gone, too.
//  12. Takeover. acquire_seq + 1, token + 1; the audit event of a steal comes first: no event, no steal. A takeover without
//     proof that the old holder was drained is marked unclean. What a writer's own lease has to tell (taken by writing, given back
//     because its holder ended) is told 50 ms later at most, several at once.
//  13. Handover. The holder's keeper holds its fence up: mutations wait for a moment, then they are refused; none is in flight.
//     What was written is made durable. Then, still under its own LOCK_SH and only if no renewal has failed meanwhile, it claims
//     the next token for the new holder (rule 2 without the gate: nobody else can have LOCK_EX). Up to the link any failure lets
//     the old epoch go on; from the link on it never does: it is closed (rule 9), and the new one opened. The audit event comes
//     first: no event, no handover.
//  14. Offer. To another host: held up and durable as in rule 13, the holder writes the host's name into its own record and lets
//     LOCK_SH go; it renews on. A taker on that host, on purpose, may take the lease as if it were released (rules 2 and 4 as
//     ever, the event first). Nobody takes it: the holder has LOCK_SH again, looks for a successor, writes the record without the
//     offer, and only then lets its epoch go on; one that has come to its end meanwhile is closed (rule 9). Where flock proves
//     nothing, a taker that needed longer than skew + grace of its boot clock from before its look until it holds lets its claim
//     run out, and the holder waits for twice that after the record was written, and then looks once more; until then the record
//     keeps the time of the offer, and is not adopted.
//  15. Sweeping. On a file system of this kernel who holds the lease, and so has LOCK_SH, removes claims behind the newest
//     [ClaimsKept], oldest first: one that says nothing (taken by writing, given back, and the one before it is gone or was given
//     back too, so that nobody asks it how that ended), and of the others those behind the newest [PastKept]. Nobody can be about
//     to link a claim meanwhile (4), so that a name which comes free is nobody's next token. What cannot be read stays.
//
// # Where each rule stands
//
//	1 authority   judge.go, successor.go        8 renew         renewal.go, keeper_run.go
//	2 claim       steal.go, claim.go, view.go   9 losing        ending.go, past.go
//	3 one writer  claim.go                      10 late writes  late.go
//	4 the gate    gatelock.go                   11 release      release.go
//	5 expired     judge.go, policy.go           12 takeover     steal.go, newrecord.go, teller.go, auditlog.go
//	6 stopped     observe.go                    13 handover     giving.go, handover.go
//	7 clock skew  judge.go, observe.go          14 offer        giving.go, offer.go
//	                                            15 sweeping     sweeper.go, keeper_run.go
//
// What a tier changes stands in tier.go, bounds of what is read in bounds.go, adoption in adopt.go, two keepers of one lease in
// follow.go.
//
// # Adoption
//
// A lease whose daemon was killed may go on in another process ([Keeper.Adopt]). That is no claim, for the token stays, but a
// renewal by another process, and keeps the rules that a renewal and a claim keep: LOCK_EX first, which proves that the dead
// daemon's fence has drained (4); then the very claim must still be the head, unreleased (1); the dead fence's own deadline, on the
// same boot clock, must not have passed (8), nor the clocks have moved apart (7); and its holder must live. Nothing is written:
// the fence opens until the old deadline, under LOCK_SH, and the next renewal is an ordinary one. What fails is a loss like any (9).
//
// While a daemon is being replaced two keepers of one machine stand for one lease, under one token ([Keeper.Join], [Keeper.Follow]).
// One leads and keeps all rules; the other has a LOCK_SH of its own (4), no later deadline than the leader's fence (8), drains before
// it lets its lock go (9), and never writes. On tier A alone: elsewhere the lock keeps nobody waiting.
//
// The package starts no goroutine, never logs, and imports nothing of the project.
package lease
