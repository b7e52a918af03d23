// Package etcd keeps the leases of worktrees in etcd v3: it is an authority ([lease.Authority]) in the place of the claims of a lock
// directory. The lock directory still has the gate, taints, and the view <id>.lock.
//
// # Keys, below a prefix of each guarded tree
//
//	head/<id>                   the record of the latest token: {token, holder, released}. It has no TTL and outlives everything.
//	alive/<id>                  the nonce of the holder, under the etcd lease of its daemon's session. It ends with that.
//	past/<id>/<20 digits>       each token's record as it was last written; the newest lease.PastKept stay.
//	audit/<id>/<20 digits>/<event>  what happened to the lease, written in the transaction in which it happened.
//	floor/<id>                  a token that an admin has set after a restore. Every later token is above it.
//
// # Why it is right
//
//   - Grant. One transaction compares the revision of the head and that of alive with what the taker saw, and puts the next head. Of
//     all who saw one head, one wins.
//   - Steal. The head is not released, and alive is gone. etcd removes it one TTL after it has received the last keepalive, not before.
//     The holder's deadline counts from before that keepalive was sent, on the boot clock, and is two thirds of the TTL. So its fence
//     has closed a third of a TTL before anybody can take the lease, however late the answer came. No wall clock is asked.
//   - One etcd lease serves all worktrees of a daemon, for they end together: with the daemon, or with its way to etcd. A lease whose
//     epoch alone ends (its holder is stopped, or gone) is released, or loses its alive key (Lapse). If the answer to that is lost,
//     the session asks until it knows (settle.go).
//   - A lost answer to a grant is looked up. If that cannot be done the session looks until no copy of the request can be on its way,
//     and releases what it has won unnoticed.
//   - The watch is a hint: it saves reads. Whether a lease stands is said by the keepalive and by a comparison of the heads' revisions
//     with those that were written, in each round of the session (round.go). A lease is renewed if both have succeeded.
//   - Restore. An etcd that was restored from a snapshot has forgotten tokens. It is noticed by the cluster's id, by a revision that
//     goes back, and by the view, which shows a token that etcd does not know. Then nobody is granted anything until an admin has made
//     sure that no writer is left, and has set the floor. No token is granted twice.
//
// # Not promised
//
// etcd does not check writes: a host that is frozen between its check and its write may write late, as with files. The fence notices by
// its deadline (rule 10), or a fence agent cuts the host off the store before the takeover (rule 17).
package etcd
