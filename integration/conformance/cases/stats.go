package cases

import (
	"os"
	"os/exec"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var statCases = []Case{
	{Name: "stat/birth", Run: birthCase}, {Name: "stat/statfs", Run: statfsCase}, {Name: "stat/statx-masks", Run: statxCase},
	{Name: "stat/limits", Alone: true, Run: fileSizeLimitCase}, {Name: "stat/handles", Run: fileHandleCase}, {Name: "stat/advice", Run: adviceCase},
	{Name: "stat/nanoseconds", Run: nanosecondsCase}, {Name: "atime/read", Run: readAtimeCase},
	{Name: "stat/attributes", Run: attributesCase}, {Name: "stat/extents", Run: extentsCase}, {Name: "stat/forgotten-handle", Alone: true, Run: forgottenHandleCase},
	{Name: "poll/regular-file", Run: pollCase}, {Name: "fsync/dir-tree", Alone: true, Run: fsyncCase},
}

func (t *Trial) statx(name string, mask int) (stx unix.Statx_t) {
	must(unix.Statx(unix.AT_FDCWD, t.At(name), unix.AT_SYMLINK_NOFOLLOW, mask, &stx))
	return stx
}

func birthCase(t *Trial) {
	before := time.Now().Add(-time.Second)
	t.file("f", 10)
	born := t.statx("f", unix.STATX_ALL).Btime
	at := time.Unix(born.Sec, int64(born.Nsec))
	t.Note("born now: %v", at.After(before) && at.Before(time.Now().Add(time.Second)))
	tick()
	must(os.Chtimes(t.At("f"), t1, t1))
	must(os.WriteFile(t.At("f"), []byte("more"), 0))
	must(os.Rename(t.At("f"), t.At("g")))
	must(os.Link(t.At("g"), t.At("h")))
	t.Note("stays: %v", t.statx("h", unix.STATX_BTIME).Btime == born)
	must(os.Mkdir(t.At("d"), 0o777))
	t.Note("of a directory: %v", t.statx("d", unix.STATX_BTIME).Mask&unix.STATX_BTIME != 0)
}

func statxCase(t *Trial) {
	t.file("f", 10)
	for _, mask := range []int{0, unix.STATX_BASIC_STATS, unix.STATX_BTIME, unix.STATX_SIZE} {
		stx := t.statx("f", mask)
		t.Note("%#x: size %d mode %o", mask, stx.Size, stx.Mode)
	}
	for _, flags := range []int{unix.AT_STATX_FORCE_SYNC, unix.AT_STATX_DONT_SYNC, unix.AT_STATX_FORCE_SYNC | unix.AT_STATX_DONT_SYNC} {
		var stx unix.Statx_t
		t.Result("flags", unix.Statx(unix.AT_FDCWD, t.At("f"), flags, unix.STATX_BASIC_STATS, &stx))
	}
	stx := t.statx("f", unix.STATX_ALL)
	t.Note("attributes %#x", stx.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND|unix.STATX_ATTR_NODUMP))
}

func statfsCase(t *Trial) {
	var st unix.Statfs_t
	must(unix.Statfs(t.Dir, &st))
	t.Note("names %d, blocks of %d and %d, some %v, inodes %v, free %v", st.Namelen, st.Bsize, st.Frsize, st.Blocks > 0, st.Files > 0, st.Bavail <= st.Bfree)
}

// fileSizeLimitCase: RLIMIT_FSIZE holds, with its signal.
func fileSizeLimitCase(t *Trial) {
	t.shell("written", "sh", "-c", "ulimit -f 2; trap '' XFSZ; head -c 5000 /dev/zero > f; stat -c %s f")
	t.shell("signalled", "sh", "-c", "ulimit -f 2; head -c 5000 /dev/zero > g; echo $?; stat -c %s g")
	t.shell("truncated", "sh", "-c", "ulimit -f 2; trap '' XFSZ; truncate -s 5000 h; echo $?; fallocate -l 5000 i; echo $?; stat -c %s h i")
	t.shell("appended", "sh", "-c", "ulimit -f 2; trap '' XFSZ; head -c 900 /dev/zero > k; head -c 900 /dev/zero >> k; stat -c %s k")
}

func fileHandleCase(t *Trial) {
	t.file("f", 10)
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, t.At("f"), 0)
	t.Result("handle", err)
	if err != nil {
		return
	}
	dir := t.openAt(".", unix.O_RDONLY)
	keep := t.openAt("f", unix.O_RDONLY)
	fd, err := unix.OpenByHandleAt(dir, h, unix.O_RDONLY|unix.O_CLOEXEC)
	t.Result("open", err)
	if err == nil {
		var a, b unix.Stat_t
		must(unix.Fstat(fd, &a))
		must(unix.Fstat(keep, &b))
		t.Note("same %v", a.Ino == b.Ino)
		_ = unix.Close(fd)
	}
}

// forgottenHandleCase opens a handle of a file to which only its name refers, after the kernel was asked to
// drop its caches.
func forgottenHandleCase(t *Trial) {
	t.file("f", 10)
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, t.At("f"), 0)
	must(err)
	dir := t.openAt(".", unix.O_RDONLY)
	for range 2 { // names first, then the inodes that they had
		must(os.WriteFile("/proc/sys/vm/drop_caches", []byte("2"), 0))
	}
	fd, err := unix.OpenByHandleAt(dir, h, unix.O_RDONLY|unix.O_CLOEXEC)
	t.Result("open", err)
	if err == nil {
		_ = unix.Close(fd)
	}
}

// attributesCase: which of the inode flags statx(2) would tell of.
func attributesCase(t *Trial) {
	t.file("f", 10)
	stx := t.statx("f", unix.STATX_BASIC_STATS)
	t.Note("known %#x", stx.Attributes_mask&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND|unix.STATX_ATTR_NODUMP))
}

// extentsCase asks where the file lies on its disk (FS_IOC_FIEMAP, linux/fiemap.h).
func extentsCase(t *Trial) {
	const fsIocFiemap = 0xC020660B
	t.file("f", 10)
	fd := t.openAt("f", unix.O_RDONLY)
	must(unix.Fsync(fd))
	ask := struct {
		start, length                 uint64
		flags, mapped, room, reserved uint32
	}{length: 1 << 20}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), fsIocFiemap, uintptr(unsafe.Pointer(&ask)))
	t.Note("extents: %d", errno)
}

func adviceCase(t *Trial) {
	t.file("f", 100000)
	fd := t.openAt("f", unix.O_RDWR)
	for advice := range 6 {
		t.Result("fadvise", unix.Fadvise(fd, 0, 100000, advice))
	}
	t.Result("sync range", unix.SyncFileRange(fd, 0, 100000, unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER))
	_, _, errno := unix.Syscall(unix.SYS_READAHEAD, uintptr(fd), 0, 100000)
	t.Note("readahead %d", errno)
	got := make([]byte, 100000)
	n, err := unix.Preadv2(fd, [][]byte{got}, 0, unix.RWF_HIPRI)
	t.Note("preadv2 %d %s %s", n, digest(got), errnoOf(err))
	n, err = unix.Pwritev2(fd, [][]byte{[]byte("ab"), []byte("cd")}, 7, unix.RWF_DSYNC)
	t.Note("pwritev2 dsync %d %s", n, errnoOf(err))
	n, err = unix.Pwritev2(fd, [][]byte{[]byte("end")}, 0, unix.RWF_APPEND)
	t.Note("pwritev2 append %d %s", n, errnoOf(err))
}

func nanosecondsCase(t *Trial) {
	t.file("f", 1)
	for _, ns := range []int64{0, 1, 100, 999, 123456789, 999999999} {
		ts := []unix.Timespec{{Sec: 1234567890, Nsec: ns}, {Sec: 987654321, Nsec: 999999999 - ns}}
		must(unix.UtimesNanoAt(unix.AT_FDCWD, t.At("f"), ts, 0))
		stx := t.statx("f", unix.STATX_BASIC_STATS)
		t.Note("%d.%09d %d.%09d", stx.Atime.Sec, stx.Atime.Nsec, stx.Mtime.Sec, stx.Mtime.Nsec)
	}
}

// readAtimeCase is the one in which the two are meant to differ.
func readAtimeCase(t *Trial) {
	t.file("f", 10)
	must(os.Chtimes(t.At("f"), t1, time.Now()))
	_, err := os.ReadFile(t.At("f"))
	must(err)
	t.Note("a read sets it: %v", t.statx("f", unix.STATX_ATIME).Atime.Sec != t1.Unix())
}

// pollCase: epoll refuses what never blocks.
func pollCase(t *Trial) {
	t.file("f", 10)
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	must(err)
	defer unix.Close(ep) //nolint:errcheck // only read from
	fd := t.openAt("f", unix.O_RDONLY)
	t.Result("epoll", unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}))
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLOUT}}, 0)
	t.Note("poll %d %s", n, errnoOf(err))
}

func fsyncCase(t *Trial) {
	must(os.MkdirAll(t.At("a", "b"), 0o777))
	for _, name := range []string{".", "a", "a/b"} {
		t.Result(name, unix.Fsync(t.openAt(name, unix.O_RDONLY)))
	}
	out, err := exec.Command("sync", "-f", t.At("a")).CombinedOutput()
	t.Note("sync -f %s %s", out, errnoOf(err))
}
