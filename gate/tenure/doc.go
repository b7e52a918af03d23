// Package tenure keeps who holds the locks of other programs that rules tell of (gate/lockfile).
//
// Each lock file has a guard of its own, as a worktree has (gate): a tenure is an epoch of it, so what is opened for writing
// under the lock ends with the tenure, and everything in flight has taken effect before the next one begins. The file system
// tells the Book before it changes the name of a lock (Begin), and when it has done so (Turn.End).
//
// It promises: whatever programs do, a lock whose holder lives is removed or replaced by its holder alone, or when
// its rule says that it is too old; who lost it writes nothing more under it. A tenure costs no disk write: it lives in memory, and
// in what Memory keeps for a daemon that goes on after this one.
//
// It does not promise anything of lock files that are changed past the mount: such a lock is unknown, and what it guards
// is refused.
package tenure
