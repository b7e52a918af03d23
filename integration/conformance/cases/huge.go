package cases

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

var hugeCases = []Case{
	{Name: "huge/sparse", Run: hugeSparseCase}, {Name: "huge/map", Run: hugeMapCase},
	{Name: "huge/append", Run: hugeAppendCase}, {Name: "huge/written", Slow: true, Alone: true, Run: hugeWrittenCase},
}

const gib = 1 << 30

// hugeSparseCase writes on both sides of what 32 bits can count.
func hugeSparseCase(t *Trial) {
	fd, r := t.openAt("f", unix.O_RDWR|unix.O_CREAT), t.openAt("f", unix.O_RDONLY)
	for _, off := range []int64{2*gib - 5, 4*gib - 5, 6 * gib, 1 << 40} {
		n, err := unix.Pwrite(fd, operation.Pattern(1000, int(off%97)), off)
		t.Note("write %d: %d %s", off, n, errnoOf(err))
		got := make([]byte, 3000)
		n, err = unix.Pread(r, got, off-1000)
		t.Note("read %d %s %s", n, digest(got[:max(n, 0)]), errnoOf(err))
		at, err := unix.Seek(r, off-3*4096, unix.SEEK_DATA)
		t.Note("data %d %s", at, errnoOf(err))
	}
	var st unix.Stat_t
	must(unix.Fstat(fd, &st))
	t.Note("size %d blocks %d", st.Size, st.Blocks)
	t.Result("punch", unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 3*gib, 5*gib))
	must(unix.Fstat(fd, &st))
	t.Note("size %d blocks %d", st.Size, st.Blocks)
	t.Result("shrink", unix.Ftruncate(fd, 4*gib+1))
}

func hugeMapCase(t *Trial) {
	fd := t.openAt("f", unix.O_RDWR|unix.O_CREAT)
	must(unix.Ftruncate(fd, 5*gib))
	m, err := unix.Mmap(fd, 4*gib+8192, 8192, readWrite, unix.MAP_SHARED)
	must(err)
	copy(m[100:], "beyond four gigabytes")
	t.Result("msync", unix.Msync(m, unix.MS_SYNC))
	got := make([]byte, 200)
	n, err := unix.Pread(fd, got, 4*gib+8192)
	t.Note("%d %s %s", n, digest(got), errnoOf(err))
	must(unix.Munmap(m))
}

func hugeAppendCase(t *Trial) {
	must(os.WriteFile(t.At("f"), nil, 0o666))
	must(os.Truncate(t.At("f"), 4*gib-3))
	fd := t.openAt("f", unix.O_RDWR|unix.O_APPEND)
	for range 3 {
		n, err := unix.Write(fd, []byte("12345"))
		off, _ := unix.Seek(fd, 0, 1)
		t.Note("%d at %d %s", n, off, errnoOf(err))
	}
}

// hugeWrittenCase writes more than four gigabytes for real, through a copy.
func hugeWrittenCase(t *Trial) {
	fd := t.openAt("f", unix.O_RDWR|unix.O_CREAT)
	block := operation.Pattern(64<<20, 3)
	for i := range int64(66) {
		n, err := unix.Pwrite(fd, block, i*int64(len(block)))
		if n != len(block) || err != nil {
			t.Note("write %d: %d %s", i, n, errnoOf(err))
		}
	}
	t.shell("sum", "sh", "-c", "md5sum < f; cp f g && cmp f g && stat -c %s g")
}
