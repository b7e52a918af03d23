package main

import (
	"os"
	"os/signal"
	"syscall"
)

// hear asks for the signals that CMD is to get. Those that this process was started to ignore (nohup, a job in the background of a script)
// stay ignored, for CMD as well: Notify would undo that.
//
// The runtime leaves SIGHUP and SIGINT alone if they are ignored, and catches SIGQUIT all the same, so that nobody can tell. A shell
// without job control ignores SIGINT and SIGQUIT together for what it starts in the background (POSIX, asynchronous lists).
func hear(signals chan<- os.Signal, all ...os.Signal) {
	ignoreWhatIsIgnored()
	for _, s := range all {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
}

// ignoreWhatIsIgnored does for this process what the runtime has undone.
func ignoreWhatIsIgnored() {
	if signal.Ignored(syscall.SIGINT) {
		signal.Ignore(syscall.SIGQUIT)
	}
}
