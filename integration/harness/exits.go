package harness

// The exit codes that the command line promises. The tests have numbers of their own, as a script has; a test of the
// command compares them with its table.
const (
	ExitUsage       = 2
	ExitConflict    = 10
	ExitExpired     = 11 // over, but skew and grace have not passed
	ExitNotHeld     = 12
	ExitFencing     = 13
	ExitClockSkew   = 14
	ExitStore       = 15
	ExitDead        = 16
	ExitBusy        = 17
	ExitUnquiet     = 18 // quiesce: no quiet moment was had
	ExitPartial     = 19 // quiesce: it was broken
	ExitLost        = 75 // exec: the lease was lost meanwhile
	ExitInterrupted = 130
)

// Exit codes of mount(8) and umount(8).
const (
	MountUsage      = 1
	MountFailed     = 32
	MountSomeFailed = 64 // mount -a: the others are mounted
)
