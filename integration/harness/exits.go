package harness

// ExitUsage is the exit code of a command line that is not understood, and of what cannot be done as asked.
const ExitUsage = 2

// ExitLost is the exit code of exec when the lease was lost meanwhile.
const ExitLost = 75

// Exit codes that the command line promises.
const (
	ExitConflict = 10
	ExitNotHeld  = 12
	ExitDead     = 16
	ExitBusy     = 17
)

// Exit codes of mount(8) and umount(8).
const (
	MountUsage      = 1
	MountFailed     = 32
	MountSomeFailed = 64 // mount -a: the others are mounted
)

// ExitExpired is E_LOCK_EXPIRED: over, but skew and grace have not passed.
const ExitExpired = 11
