// Package mountcfg holds the configuration of a mount: strict YAML, flags, defaults and the
// overrides of single worktrees.
//
// Four sources set the same values, and the later one wins:
//
//	default  <  configuration file  <  mount options (-o, fstab)  <  flags and arguments
//
// A value of one worktree in the file (worktrees.ID.mode) is more specific than the value of the
// whole mount. So it also wins over a flag.
//
// The package stands alone. A Config carries plain strings and time.Duration values, so lease, gate
// and fusefs need not know how they were spelled. Nothing here is safe for concurrent writers; a
// resolved Config is read only.
package mountcfg
