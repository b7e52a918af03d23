package daemon

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// daemonNice is the daemon's priority. Everybody who waits for a file waits for the
// daemon: on a loaded machine one at the common priority makes every call queue
// behind the very builds that make them.
const daemonNice = -10

// RaisePriority gives all threads of this process, and those to come, daemonNice; the
// session's scheduling group as well where the kernel groups by session
// (sched(7), autogroup), for there the niceness of a thread counts within it only. A
// priority that whoever started us has chosen stays. It may be refused, which is no
// error.
func RaisePriority() {
	const common = 20 // getpriority(2): the kernel answers with 20 minus the niceness
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil || now != common {
		return
	}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, daemonNice)
		}
	}
	if sid, err := unix.Getsid(0); err == nil && sid == os.Getpid() { // a group of our own
		_ = os.WriteFile("/proc/self/autogroup", []byte(strconv.Itoa(daemonNice)), 0)
	}
}
