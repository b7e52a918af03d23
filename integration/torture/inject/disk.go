//go:build jvsfs_torture

package inject

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// Disk is a system call that changes the lock directory or the audit log, which may fail without having been done, or, by EIO,
// after it was done. It is a point before and after.
func Disk(op string, call func() error) error {
	if strings.HasPrefix(op, "record.") || strings.HasPrefix(op, "dir.") {
		op = during(op)
	}
	Point(op + ".before")
	if err := fault(op); err != nil {
		if errors.Is(err, unix.EIO) && enemy.draw(2) == 0 {
			_ = call() // the reply is lost
		}
		return err
	}
	err := call()
	Point(op + ".after")
	return err
}

// Look is a system call that only looks at the lock directory. Of the errors of a disk it can meet EIO alone.
func Look(op string, call func() error) error {
	if enemy.active() && enemy.page.Get(plan.PageErrno) == int64(unix.EIO) {
		if err := sightFault(op); err != nil {
			return err
		}
	}
	return call()
}

// Open is a system call that opens something in the lock directory, and may make it.
func Open(flags int, call func() error) error {
	if flags&unix.O_CREAT == 0 {
		return Look("open", call)
	}
	if err := sightFault("open.create"); err != nil {
		return err
	}
	return call()
}

// fault is what the disk answers in the place of a call that changes something.
func fault(op string) error {
	if !enemy.active() {
		return nil
	}
	switch what := enemy.page.Get(plan.PageWhat); {
	case what == plan.FailSight, what == plan.FailAudit && !strings.HasPrefix(op, "audit."):
		return nil
	}
	return enemy.fail(op)
}

func sightFault(op string) error {
	if !enemy.active() || enemy.page.Get(plan.PageWhat) == plan.FailAudit {
		return nil
	}
	return enemy.fail(op)
}

func (e *state) fail(op string) error {
	ppm := int(e.page.Get(plan.PageFailing))
	if ppm == 0 || e.draw(1e6) >= ppm {
		return nil
	}
	errno := unix.Errno(e.page.Get(plan.PageErrno))
	event{where: op, worktree: "-", begin: plan.Monotonic()}.note(unix.ErrnoName(errno))
	return errno
}
