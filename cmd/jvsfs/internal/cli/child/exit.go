package child

import (
	"syscall"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// ExitCodeOf is the exit code of a process as a shell has it.
func ExitCodeOf(s syscall.WaitStatus) api.ExitCode {
	if s.Signaled() {
		return api.ExitBySignal(s.Signal())
	}
	return api.ExitCode(s.ExitStatus())
}
