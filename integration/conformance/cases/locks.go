package cases

import (
	"fmt"
	"os/signal"

	"golang.org/x/sys/unix"
)

var lockCases = []Case{
	{Name: "lock/flock", Alone: true, Run: flockCase},
	{Name: "lock/open-file-description", Alone: true, Run: ofdCase},
	{Name: "lock/posix", Alone: true, Run: posixLockCase},
	{Name: "lock/interrupted", Alone: true, Run: interruptedLockCase},
	{Name: "lock/released-by-close", Alone: true, Run: releasedLockCase},
}

func flockCase(t *Trial) {
	a, b, r := t.openAt("f", unix.O_RDWR|unix.O_CREAT), t.openAt("f", unix.O_RDWR), t.openAt("f", unix.O_RDONLY)
	try := func(what string, fd, how int) { t.Result(what, unix.Flock(fd, how|unix.LOCK_NB)) }
	try("a shared", a, unix.LOCK_SH)
	try("b shared", b, unix.LOCK_SH)
	try("b exclusive", b, unix.LOCK_EX)
	try("a unlock", a, unix.LOCK_UN)
	try("b exclusive again", b, unix.LOCK_EX)
	try("read-only handle", r, unix.LOCK_EX)
	try("b down", b, unix.LOCK_SH)
	try("read-only shared", r, unix.LOCK_SH)
	d := t.openAt(".", unix.O_RDONLY)
	try("directory", d, unix.LOCK_EX)
	t.shell("another process", "flock", "-n", "-x", "f", "true")
	t.shell("another process, shared", "flock", "-n", "-s", "f", "true")
}

func lockOf(kind int16, start, length int64) unix.Flock_t {
	return unix.Flock_t{Type: kind, Whence: 0, Start: start, Len: length}
}

func (t *Trial) fcntl(what string, fd, how int, kind int16, start, length int64) {
	l := lockOf(kind, start, length)
	err := unix.FcntlFlock(uintptr(fd), how, &l)
	if how == unix.F_GETLK || how == unix.F_OFD_GETLK {
		t.Note("%s: %s type %d %d+%d", what, errnoOf(err), l.Type, l.Start, l.Len)
		return
	}
	t.Result(what, err)
}

func ofdCase(t *Trial) {
	a, b, r := t.openAt("f", unix.O_RDWR|unix.O_CREAT), t.openAt("f", unix.O_RDWR), t.openAt("f", unix.O_RDONLY)
	const set, get = unix.F_OFD_SETLK, unix.F_OFD_GETLK
	t.fcntl("a writes 0+10", a, set, unix.F_WRLCK, 0, 10)
	t.fcntl("b asks", b, get, unix.F_RDLCK, 5, 100)
	t.fcntl("b reads 5+5", b, set, unix.F_RDLCK, 5, 5)
	t.fcntl("b reads 10+5", b, set, unix.F_RDLCK, 10, 5)
	t.fcntl("a writes everything", a, set, unix.F_WRLCK, 0, 0)
	t.fcntl("a splits", a, set, unix.F_UNLCK, 3, 2)
	t.fcntl("b takes the gap", b, set, unix.F_WRLCK, 3, 2)
	t.fcntl("a asks", a, get, unix.F_WRLCK, 0, 0)
	t.fcntl("read-only writes", r, set, unix.F_WRLCK, 100, 1)
	t.fcntl("read-only reads", r, set, unix.F_RDLCK, 100, 1)
	t.fcntl("at the end of time", a, set, unix.F_WRLCK, 1<<62, 0)
	t.fcntl("bad range", a, set, unix.F_WRLCK, -5, 1)
	t.fcntl("posix beside it", a, unix.F_SETLK, unix.F_WRLCK, 3, 1)
}

// perlLock asks for a POSIX lock from another process.
func (t *Trial) perlLock(what, how string, kind int16, start, length int64, seconds int) {
	t.shell(what, "perl", "-e", fmt.Sprintf(
		`use Fcntl; open(F, "+<", "f") or die; $SIG{ALRM} = sub {}; alarm %d; $l = pack("s s x4 q q i x4", %d, 0, %d, %d, 0);
		 print fcntl(F, %s, $l) ? "granted" : "refused: " . ($!+0);`, seconds, kind, start, length, how))
}

func posixLockCase(t *Trial) {
	f := t.openAt("f", unix.O_RDWR|unix.O_CREAT)
	t.fcntl("writes 0+10", f, unix.F_SETLK, unix.F_WRLCK, 0, 10)
	t.perlLock("other writes 5", "F_SETLK", unix.F_WRLCK, 5, 1, 0)
	t.perlLock("other writes 20", "F_SETLK", unix.F_WRLCK, 20, 1, 0)
	t.fcntl("reads 0+10", f, unix.F_SETLK, unix.F_RDLCK, 0, 10)
	t.perlLock("other reads 5", "F_SETLK", unix.F_RDLCK, 5, 1, 0)
	t.perlLock("other writes 5 again", "F_SETLK", unix.F_WRLCK, 5, 1, 0)
	t.fcntl("unlocks", f, unix.F_SETLK, unix.F_UNLCK, 0, 0)
	t.perlLock("other writes all", "F_SETLK", unix.F_WRLCK, 0, 0, 0)
}

// interruptedLockCase: who waits for a lock can be interrupted by a signal.
func interruptedLockCase(t *Trial) {
	f := t.openAt("f", unix.O_RDWR|unix.O_CREAT)
	t.fcntl("writes", f, unix.F_OFD_SETLK, unix.F_WRLCK, 0, 0)
	must(unix.Flock(f, unix.LOCK_EX))
	t.perlLock("waits for posix", "F_SETLKW", unix.F_WRLCK, 0, 0, 1)
	t.shell("waits for flock", "perl", "-e", `use Fcntl ":flock"; open(F, "<", "f"); $SIG{ALRM} = sub {}; alarm 1; print flock(F, LOCK_EX) ? "granted" : "refused: " . ($!+0)`)
	t.shell("waits and is killed", "timeout", "-s", "KILL", "0.3", "flock", "f", "true")
}

func releasedLockCase(t *Trial) {
	a := t.openAt("f", unix.O_RDWR|unix.O_CREAT)
	b, err := unix.Open(t.At("f"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	must(err)
	t.fcntl("posix", a, unix.F_SETLK, unix.F_WRLCK, 0, 0)
	t.perlLock("other", "F_SETLK", unix.F_WRLCK, 0, 0, 0)
	must(unix.Close(b)) // any close of the file drops the process's POSIX locks
	t.perlLock("other after a close", "F_SETLK", unix.F_WRLCK, 0, 0, 0)
	c, err := unix.Open(t.At("f"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	must(err)
	must(unix.Flock(c, unix.LOCK_EX))
	t.Result("taken", unix.Flock(a, unix.LOCK_EX|unix.LOCK_NB))
	must(unix.Close(c))
	t.Result("free", unix.Flock(a, unix.LOCK_EX|unix.LOCK_NB))
}

var leaseCases = []Case{{Name: "lease/fcntl", Alone: true, Run: fcntlLeaseCase}}

func fcntlLeaseCase(t *Trial) {
	signal.Ignore(unix.SIGIO) // how the kernel announces a break
	w := t.openAt("f", unix.O_RDWR|unix.O_CREAT)
	set := func(what string, fd int, kind int) {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, kind)
		n, _ := unix.FcntlInt(uintptr(fd), unix.F_GETLEASE, 0)
		t.Note("%s: %s, has %d", what, errnoOf(err), n)
	}
	set("write lease of the only opener", w, unix.F_WRLCK)
	fd, err := unix.Open(t.At("f"), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	t.Result("open against it", err)
	_ = unix.Close(fd)
	set("dropped", w, unix.F_UNLCK)
	r := t.openAt("f", unix.O_RDONLY)
	set("read lease beside a writer", r, unix.F_RDLCK)
	set("write lease beside a reader", w, unix.F_WRLCK)
	t.leaseBroken(set)
}

func (t *Trial) leaseBroken(set func(string, int, int)) {
	must(unix.Close(t.openAt2("g")))
	r := t.openAt("g", unix.O_RDONLY)
	set("read lease", r, unix.F_RDLCK)
	fd, err := unix.Open(t.At("g"), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	t.Result("write against it", err)
	_ = unix.Close(fd)
	t.Result("truncate against it", unixTruncateNonblocking(t.At("g")))
	set("given back", r, unix.F_UNLCK)
	t.Result("truncate now", unix.Truncate(t.At("g"), 3))
	d := t.openAt(".", unix.O_RDONLY)
	set("of a directory", d, unix.F_RDLCK)
}

func unixTruncateNonblocking(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_TRUNC|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

func (t *Trial) openAt2(name string) int {
	fd, err := unix.Open(t.At(name), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o666)
	must(err)
	return fd
}
