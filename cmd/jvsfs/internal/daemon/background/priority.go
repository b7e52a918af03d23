package background

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// daemonNice is the daemon's niceness. Everybody who waits for a file waits for the daemon. On a loaded machine
// a daemon at the common priority would queue behind the builds that call it.
const daemonNice = -10

// RaisePriority gives daemonNice to all threads of this process, and to later ones. Where the kernel schedules
// by session (sched(7), autogroup), the session's group gets it as well, because a thread's niceness counts
// only within its group. A priority that was chosen at the start stays. It is no error if the kernel refuses.
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
