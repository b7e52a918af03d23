package cases

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

var mapCases = []Case{
	{Name: "mmap/modes", Run: mapModesCase}, {Name: "mmap/private", Run: privateMapCase}, {Name: "mmap/two-views", Run: twoViewsCase},
	{Name: "mmap/shrunk", Run: shrunkMapCase}, {Name: "mmap/remove", Run: removedPagesCase}, {Name: "mmap/closed-file", Run: closedFileMapCase},
	{Name: "mmap/grown", Run: grownMapCase}, {Name: "mmap/readers", Run: mapReadersCase},
}

const readWrite = unix.PROT_READ | unix.PROT_WRITE

func (t *Trial) mapped(fd int, length, flags int) []byte {
	m, err := unix.Mmap(fd, 0, length, readWrite, flags)
	must(err)
	t.Later(func() { _ = unix.Munmap(m) })
	return m
}

func digest(b []byte) string { return fmt.Sprintf("%.6x", sha256.Sum256(b)) }

func (t *Trial) file(name string, size int) {
	must(os.WriteFile(t.At(name), operation.Pattern(size, 7), 0o666))
}

// mapModesCase maps with every protection, sharing and way of opening.
func mapModesCase(t *Trial) {
	t.file("f", 20000)
	for opened, flags := range map[string]int{"r": unix.O_RDONLY, "w": unix.O_WRONLY, "rw": unix.O_RDWR, "a": unix.O_RDWR | unix.O_APPEND, "d": unix.O_RDWR | unix.O_DIRECT} {
		fd := t.openAt("f", flags)
		for prot := range 8 {
			for _, sharing := range []int{unix.MAP_SHARED, unix.MAP_PRIVATE, unix.MAP_SHARED_VALIDATE, unix.MAP_SHARED | unix.MAP_POPULATE, unix.MAP_PRIVATE | unix.MAP_LOCKED} {
				m, err := unix.Mmap(fd, 4096, 8192, prot, sharing)
				t.Note("%s", fmt.Sprintf("%s prot %d flags %#x: %s", opened, prot, sharing, errnoOf(err)))
				if err == nil {
					must(unix.Munmap(m))
				}
			}
		}
	}
	t.sortNotes()
}

func privateMapCase(t *Trial) {
	t.file("f", 10000)
	fd := t.openAt("f", unix.O_RDWR)
	m := t.mapped(fd, 10000, unix.MAP_PRIVATE)
	copy(m[100:], "private")
	_, err := unix.Pwrite(fd, []byte("through the file"), 5000)
	must(err)
	t.Note("mine %s, others' %s", digest(m[:4096]), digest(m[4096:8192]))
	text, err := os.ReadFile(t.At("f"))
	t.Note("file %s %s", digest(text), errnoOf(err))
	t.Result("protect", unix.Mprotect(m, unix.PROT_READ))
	t.Result("protect back", unix.Mprotect(m, readWrite))
}

func twoViewsCase(t *Trial) {
	t.file("f", 10000)
	a, b := t.openAt("f", unix.O_RDWR), t.openAt("f", unix.O_RDWR)
	m, n := t.mapped(a, 10000, unix.MAP_SHARED), t.mapped(b, 10000, unix.MAP_SHARED)
	for i := range 50 {
		copy(m[i*190:], fmt.Sprintf("one %d", i))
		t.Note("%s", digest(n[i*190:i*190+10]))
		_, err := unix.Pwrite(b, fmt.Appendf(nil, "two %d", i), int64(i*190+20))
		must(err)
		got := make([]byte, 60)
		_, err = unix.Pread(a, got, int64(i*190))
		must(err)
		t.Note("%s %s", digest(m[i*190+20:i*190+30]), digest(got))
	}
	t.Result("msync", unix.Msync(m, unix.MS_SYNC|unix.MS_INVALIDATE))
	text, _ := os.ReadFile(t.At("f"))
	t.Note("file %s", digest(text))
}

// faults reports whether reading a mapped byte raises a signal.
func faults(m []byte, at int) (is bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { is = recover() != nil }()
	runtime.KeepAlive(m[at]) // a load that is not optimised away
	return false
}

func shrunkMapCase(t *Trial) {
	t.file("f", 20000)
	fd := t.openAt("f", unix.O_RDWR)
	m := t.mapped(fd, 20000, unix.MAP_SHARED)
	for _, size := range []int64{20000, 9000, 8192, 1, 0, 13000} {
		must(unix.Ftruncate(fd, size))
		for _, at := range []int{0, 4096, 8192, 8999, 12288, 16384} {
			t.Note("size %d at %d: fault %v", size, at, faults(m, at))
		}
	}
	got := make([]byte, 20000)
	n, err := unix.Pread(fd, got, 0)
	t.Note("%d %s %s", n, digest(got[:max(n, 0)]), errnoOf(err))
}

func removedPagesCase(t *Trial) {
	t.file("f", 40000)
	fd := t.openAt("f", unix.O_RDWR)
	m := t.mapped(fd, 40000, unix.MAP_SHARED)
	t.Result("remove", unix.Madvise(m[8192:16384], unix.MADV_REMOVE))
	t.Note("%s", digest(m))
	for name, advice := range map[string]int{"dontneed": unix.MADV_DONTNEED, "willneed": unix.MADV_WILLNEED, "sequential": unix.MADV_SEQUENTIAL, "cold": unix.MADV_COLD, "pageout": unix.MADV_PAGEOUT, "populate": unix.MADV_POPULATE_WRITE} {
		t.Note("%s", fmt.Sprintf("%s %s %s", name, errnoOf(unix.Madvise(m[:4096], advice)), digest(m)))
	}
	t.sortNotes()
}

// closedFileMapCase: a mapping still works when its file is closed and has no name.
func closedFileMapCase(t *Trial) {
	t.file("f", 10000)
	fd, err := unix.Open(t.At("f"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	must(err)
	m := t.mapped(fd, 10000, unix.MAP_SHARED)
	must(unix.Close(fd))
	copy(m[5000:], "stored after the close")
	t.Result("msync", unix.Msync(m, unix.MS_SYNC))
	text, err := os.ReadFile(t.At("f"))
	t.Note("%s %s", digest(text), errnoOf(err))
	must(os.Remove(t.At("f")))
	copy(m[6000:], "stored after the removal")
	t.Result("msync", unix.Msync(m, unix.MS_SYNC))
	t.Note("%s", digest(m))
}

func grownMapCase(t *Trial) {
	t.file("f", 100)
	fd := t.openAt("f", unix.O_RDWR)
	m := t.mapped(fd, 40960, unix.MAP_SHARED)
	for _, size := range []int64{5000, 5001, 20000, 40960} {
		_, err := unix.Pwrite(fd, []byte("x"), size-1)
		must(err)
		copy(m[size-50:], "stored")
		t.Note("%d %s fault beyond %v", size, digest(m[:size]), size < 36000 && faults(m, 40959))
	}
	t.Result("fsync", unix.Fsync(fd))
	text, _ := os.ReadFile(t.At("f"))
	t.Note("%s", digest(text))
}

// mapReadersCase: read, sendfile and other openers see a store at once.
func mapReadersCase(t *Trial) {
	t.file("f", 10000)
	m := t.mapped(t.openAt("f", unix.O_RDWR), 10000, unix.MAP_SHARED)
	r := t.openAt("f", unix.O_RDONLY)
	for i := range 20 {
		copy(m[i*450:], fmt.Sprintf("round %d", i))
		got := make([]byte, 10000)
		_, err := unix.Pread(r, got, 0)
		must(err)
		text, err := os.ReadFile(t.At("f"))
		must(err)
		t.Note("%s %s", digest(got), digest(text))
	}
}
