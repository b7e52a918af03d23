package rules

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// contenderVar makes the test binary a contender: HOW, the directory and its history, by spaces.
const contenderVar = "JVSFS_CONTENDER"

// contender is a process that takes a lock, writes what it guards, and gives it up, for ever. It is killed anywhere. It knows
// nothing of its rivals: a lock that is in its way it removes, and the mount decides whether it may.
type contender struct {
	lock, data string
	flocked    bool
	history    int // what it was told, one line for each call; outside the mount
	n          int
}

func contend(what string) {
	w := strings.Fields(what)
	history, err := unix.Open(w[2], unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_CLOEXEC, 0o600)
	if err != nil {
		panic(err)
	}
	c := contender{lock: filepath.Join(w[1], "i.lock"), data: filepath.Join(w[1], "i.data"), flocked: w[0] == "flock", history: history}
	for old := -1; ; c.n++ {
		switch {
		case w[0] == "stranger":
			c.intrude()
		case c.flocked:
			old = c.tooLate(old, c.underFlock())
		default:
			old = c.tooLate(old, c.underLock())
		}
	}
}

// breath is between two tries.
func breath() { time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond) }

// underLock is one tenure of a lock that is made. It returns what it wrote by, still open.
func (c *contender) underLock() (fd int) {
	lock, err := c.take()
	if err != nil {
		_ = unix.Unlink(c.lock)
		breath()
		return -1
	}
	var own unix.Stat_t
	seen := unix.Fstat(lock, &own) == nil // unless the daemon was killed just now
	_ = unix.Close(lock)
	fd = c.writes()
	c.giveUp(own.Ino, seen)
	return fd
}

// take makes the lock, as programs do: with O_EXCL, or by a link or a rename of a file of its own.
func (c *contender) take() (fd int, err error) {
	const anew = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC
	how := rand.IntN(3)
	if how == 0 {
		return unix.Open(c.lock, anew, 0o644)
	}
	own := fmt.Sprint(c.lock, ".", os.Getpid())
	if fd, err = unix.Open(own, anew, 0o644); err != nil {
		_ = unix.Unlink(own) // of a call that was cut off
		return -1, err
	}
	if how == 1 {
		err = unix.Link(own, c.lock)
		_ = unix.Unlink(own)
	} else if err = unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, c.lock, unix.RENAME_NOREPLACE); err != nil {
		_ = unix.Unlink(own)
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, err
}

// giveUp removes the lock. If the daemon is killed meanwhile it comes again, and this call may have been done or not: then the lock may
// be another's.
func (c *contender) giveUp(own uint64, seen bool) {
	for cut := false; ; breath() {
		var now unix.Stat_t
		err := unix.Lstat(c.lock, &now)
		if err == nil && seen && !cut && now.Ino != own {
			c.note("robbed")
			return
		}
		if err == nil {
			err = unix.Unlink(c.lock)
			cut = cut || err == unix.ENOTCONN || err == unix.ECONNABORTED
		}
		switch {
		case err == unix.ENOTCONN || err == unix.ECONNABORTED:
		case err == nil || cut && (err == unix.ENOENT || err == unix.EROFS):
			return
		default:
			c.note("not given up: " + err.Error())
			return
		}
	}
}

// underFlock is one tenure of a flock. It is given up by a call: the kernel tells of a closed file a moment after close(2).
func (c *contender) underFlock() (fd int) {
	lock, err := unix.Open(c.lock, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o644)
	if err != nil {
		breath()
		return -1
	}
	defer unix.Close(lock)
	if unix.Flock(lock, unix.LOCK_EX) != nil {
		return -1
	}
	fd = c.writes()
	_ = unix.Flock(lock, unix.LOCK_UN)
	return fd
}

// writes adds some lines to what the lock guards, by one descriptor.
func (c *contender) writes() (fd int) {
	fd, err := unix.Open(c.data, unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	for seq := range 1 + rand.IntN(8) {
		line := fmt.Sprintf("%d.%d %d\n", os.Getpid(), c.n, seq)
		if _, err := unix.Write(fd, []byte(line)); err == nil {
			c.note("wrote " + line[:len(line)-1])
		}
	}
	return fd
}

// tooLate writes by the descriptor of the tenure before, which is over, and keeps the latest instead.
func (c *contender) tooLate(old, now int) (kept int) {
	if now < 0 {
		return old
	}
	if old >= 0 {
		_, _ = unix.Write(old, []byte("late\n"))
		_ = unix.Close(old)
	}
	_, _ = unix.Write(now, []byte("late\n"))
	return now
}

// intrude does what a program does that has never heard of the lock.
func (c *contender) intrude() {
	if fd, err := unix.Open(c.data, unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0); err == nil {
		_, _ = unix.Write(fd, []byte("stranger\n"))
		_ = unix.Close(fd)
	}
	_ = unix.Rename(c.data, c.data+".away")
	_ = unix.Truncate(c.data, 0)
	_ = unix.Unlink(c.data)
	breath()
}

func (c *contender) note(line string) { _, _ = unix.Write(c.history, []byte(line+"\n")) }
