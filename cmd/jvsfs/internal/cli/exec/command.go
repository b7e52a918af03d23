package exec

import (
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/flags"
)

// Command is jvsfs exec with its flags. jvsfs run uses it for what it has mounted.
type Command struct {
	flags.Records
	IO      console.Streams
	Wait    time.Duration
	steal   bool
	Linger  bool
	cgroup  bool
	scope   string
	Purpose string
	show    *console.Waits // the wait for the lease
	notify  string

	Dir   string          // where CMD runs; "" is here
	Began func(HeldLease) // called when the lease is held and CMD has not begun; may be nil
	Over  func(lost bool) // called when CMD has ended with all that it left, still under the lease unless that was lost; may be nil
}
