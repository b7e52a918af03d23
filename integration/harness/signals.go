package harness

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// undoIgnored lets what the tests start have the usual signals also below nohup, which ignores SIGHUP, and as the job of a
// script, which ignores SIGINT. Go keeps these two ignored, and a program inherits that; what is caught, it does not inherit.
// The tests themselves go on ignoring them: nobody reads the channel.
func undoIgnored() {
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}
