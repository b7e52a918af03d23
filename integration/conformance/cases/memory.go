package cases

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

var memoryCases = []Case{{Name: "memory/bad-address", Run: badAddressCase}, {Name: "memory/half-bad", Run: halfBadCase}, {Name: "memory/vectors", Run: vectorsCase}, {Name: "memory/own-mapping", Run: ownMappingCase}}

// badAddressCase hands addresses to the kernel that nobody has mapped.
func badAddressCase(t *Trial) {
	t.file("f", 10000)
	for opened, flags := range map[string]int{"ro": unix.O_RDONLY, "rw": unix.O_RDWR, "append": unix.O_WRONLY | unix.O_APPEND, "dir": unix.O_DIRECTORY} {
		name := "f"
		if opened == "dir" {
			name = "."
		}
		fd := uintptr(t.openAt(name, flags))
		for call, number := range map[string]uintptr{"pread": unix.SYS_PREAD64, "pwrite": unix.SYS_PWRITE64, "getdents": unix.SYS_GETDENTS64, "fstat": unix.SYS_FSTAT} {
			n, _, errno := unix.Syscall6(number, fd, 64, 5000, 0, 0, 0)
			t.Note("%s", fmt.Sprintf("%s %s: %d %s", opened, call, int(n), operation.ErrnoName(errno)))
		}
	}
	t.sortNotes()
}

// halfBadCase transfers to and from memory of which the second half is missing.
func halfBadCase(t *Trial) {
	t.file("f", 20000)
	mem, err := unix.Mmap(-1, 0, 16384, readWrite, unix.MAP_ANON|unix.MAP_PRIVATE)
	must(err)
	defer func() { _ = unix.Munmap(mem) }()
	must(unix.Mprotect(mem[8192:], unix.PROT_NONE))
	for _, flags := range []int{unix.O_RDONLY, unix.O_RDWR} {
		n, err := unix.Pread(t.openAt("f", flags), mem, 0)
		t.Note("read: some %v %s", n > 0, errnoOf(err))
	}
	_, err = unix.Pwrite(t.openAt("f", unix.O_WRONLY), mem[:12000], 0)
	t.Note("write refused whole or cut short: %v", err == unix.EFAULT || err == nil)
}

func vectorsCase(t *Trial) {
	fd := t.openAt("f", unix.O_RDWR|unix.O_CREAT)
	var v [][]byte
	for i := range 300 {
		v = append(v, operation.Pattern(i*7%50, i))
	}
	n, err := unix.Pwritev(fd, v, 10)
	t.Note("%d %s", n, errnoOf(err))
	n, err = unix.Preadv(fd, v, 3)
	sum := make([]byte, 0, 10000)
	for _, b := range v {
		sum = append(sum, b...)
	}
	t.Note("%d %s %s", n, digest(sum), errnoOf(err))
	_, err = unix.Pwritev(fd, make([][]byte, 1025), 0)
	t.Result("too many", err)
}

// ownMappingCase reads and writes a file into and from its own mapping.
func ownMappingCase(t *Trial) {
	t.file("f", 40000)
	fd := t.openAt("f", unix.O_RDWR)
	m := t.mapped(fd, 40000, unix.MAP_SHARED)
	n, err := unix.Pread(fd, m[20000:25000], 0)
	t.Note("read %d %s", n, errnoOf(err))
	n, err = unix.Pwrite(fd, m[:5000], 30000)
	t.Note("write %d %s", n, errnoOf(err))
	must(unix.Msync(m, unix.MS_SYNC))
	t.Note("%s", digest(m))
}
