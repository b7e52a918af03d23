package finding

// WhyItMatters says for each problem what follows from it. A test checks that every id that doctor reports has
// a line, and every line a finding.
var WhyItMatters = map[string]string{
	"kernel.old":        "mounting needs these calls; without them there is no fence at all",
	"kernel.map":        "programs that map files for writing (databases, linkers) fail in the mount",
	"kernel.beneath":    "a dead mount cannot be recovered without a moment at which the bare directory can be written",
	"kernel.pidfd":      "without descriptors of processes a number may mean another process by the time it is used",
	"fuse.missing":      "no mount can be made",
	"fuse.denied":       "no mount can be made by this user or in this container",
	"fuse.timeout":      "the kernel cuts a whole mount off when one request takes longer; a flush of a large file may",
	"limits.processes":  "each inode that a mount remembers costs a descriptor; above the limit the mount answers ENFILE",
	"limits.machine":    "when the machine has no file left to open, renewals fail too and leases are lost",
	"limits.inotify":    "without watches what others change behind the mount is seen late",
	"limits.user":       "who has all the descriptors that one user may have cannot open or find anything more, unless he holds a lease",
	"limits.instances":  "without an inotify instance what others change behind the mount is seen late",
	"limits.unknown":    "what cannot be read cannot be judged",
	"clock.unsynced":    "hosts that share a store take over leases by their clocks",
	"clock.off":         "hosts that share a store take over leases by their clocks",
	"clock.unknown":     "hosts that share a store take over leases by their clocks",
	"config.invalid":    "the mount of this file will not start at the next boot",
	"config.unreadable": "the mount of this file will not start at the next boot",
	"config.source":     "the mount of this file will not start at the next boot",

	"mounts.dead":      "everything in a dead mount fails with ENOTCONN; after an unmount nothing fences the directory below",
	"mounts.silent":    "everybody who uses the mount may have to wait for its daemon",
	"mounts.forbidden": "what cannot be asked cannot be judged",
	"mounts.cut_off":   "the client of the store that the daemon has open has ended; one that was mounted again since is another",

	"mounts.hidden": "writes to those places through the mount go to the directories below them, and the files of these file systems are not seen",

	"recovery.interrupted": "everybody still meets the dead mount, although the new daemon serves beneath it",
	"recovery.covered":     "who entered the dead mount before keeps it; when the upper mount goes, the dead one is met again",

	"propagation.private": "containers and services that run already do not see a mount made now: they keep the bare directory",
	"bypass.namespace":    "their writes do not come through the mount and are not fenced",
	"bypass.bind":         "writes through that path do not come through the mount and are not fenced",
	"bypass.process":      "what it writes there does not come through the mount and is not fenced",

	"version.mismatch": "the daemon lacks what this command knows, or the other way round; old mistakes stay until it is replaced",
	"version.replaced": "the daemon runs a binary that is no longer on disk; its own mistakes stay until it is replaced",

	"run.socket":    "nobody listens there; a later mount may get the same device number",
	"run.state":     "it describes a mount that is gone; a later mount may get the same device number",
	"run.unchecked": "what cannot be looked at cannot be judged",
	"run.foreign":   "who can put files there can answer in the place of a daemon",
	"run.guardian":  "it would cut a mount off when it ends, and it can no longer know when it should",

	"locks.denied":     "what cannot be looked at cannot be judged",
	"locks.unreadable": "with no lock directory nobody gets a lease, and nobody writes",
	"locks.kind":       "with no lock directory nobody gets a lease, and nobody writes",
	"locks.exposed":    "who can forge a record can take every lease, or keep it from everybody",
	"locks.unseen":     "what cannot be looked at cannot be judged",
	"locks.mode":       "who knows a nonce can release or renew a lease of others",
	"locks.unwritable": "no lease can be taken or renewed there, so writing stops",
	"locks.exclusive":  "two writers could get the same fencing token",
	"locks.link":       "two writers could get the same fencing token",
	"locks.rename":     "other readers could see a record that is torn",
	"locks.flock":      "a new holder does not wait until the writes of the old one are over",
	"locks.sync":       "after a crash of the machine a token may be given a second time",
	"locks.clock":      "the file system's clock and this host's disagree; its time stamps are how late records are noticed",
	"locks.space":      "when the lock directory is full no lease can be taken or renewed, and writing stops",
	"locks.inodes":     "when the lock directory has no inode left no lease can be taken or renewed, and writing stops",
	"locks.replaced":   "no lease can be taken or renewed in a directory that is gone, and other mounts and commands would take other records",
	"locks.unchecked":  "what cannot be looked at cannot be judged",

	"tier.etcd":            "etcd decides who holds, but does not check writes: a host that is paused may write late, and only afterwards is it known",
	"authority.unreadable": "without it nobody knows whether the records there or another authority decide who holds",
	"tier.unknown":         "what the file system promises decides how strong the fence is",
	"tier.hides_names":     "a holder learns of its successor by the name of a claim that did not exist before, and writes on beside it until then",
	"tier.shared":          "a host that is paused may write late, and only afterwards is it known",
	"tree.twice":           "two processes hold the same tree at once, each with a token that the other does not know",
	"tree.unbound":         "who renames the directory before it is mounted loses its tokens: they start again",
	"tree.other":           "with records that are another directory's, two directories share one lease",
	"tree.unseen":          "a mount with other records has a holder of its own, and both write",

	"leftovers.stale": "it is harmless, and grows in number",
	"leftovers.scan":  "what cannot be looked at cannot be judged",

	"records.unreadable": "nobody may write to the worktree until the record is repaired",
	"records.skewed":     "the lease is not taken over while clocks disagree about it",
	"records.unreleased": "its holder ended without releasing: what it wrote may be half done",
	"records.failed":     "without its records nobody may write to the worktree",

	"repair.failed":    "it is as it was",
	"repair.notmended": "only a person can know that nobody counts on it",

	"rules.gone":    "what the lock guards is refused to everybody until it is removed as its rule allows",
	"rules.unknown": "what the lock guards is refused to everybody until it is removed as its rule allows",
	"rules.never":   "a rule that does not fit the tree protects nothing",
	"rules.bypass":  "who changes a lock there can also write what it guards, and nothing fences that",

	"taint.late": "its bytes may have overwritten those of a later holder",
	"taint.scan": "what cannot be looked at cannot be judged",
}
