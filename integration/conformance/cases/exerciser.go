package cases

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

const exerciseMax = 256 << 10

// exerciser works on one file in all ways at once and keeps a copy in memory of
// what must be in it.
type exerciser struct {
	t      *Trial
	r      *rand.Rand
	want   []byte
	rw, ro int
	again  int // opened anew now and then, so that opens meet dirty pages
	other  int
	done   []string
}

// exercise notes only whether file and copy stayed alike; where they did not, the
// last steps are noted with the place.
func exercise(t *Trial, seed uint64) {
	x := &exerciser{t: t, r: rand.New(rand.NewPCG(seed, 9))}
	x.rw, x.ro = t.openAt("f", unix.O_RDWR|unix.O_CREAT), t.openAt("f", unix.O_RDONLY)
	x.other, x.again = t.openAt("g", unix.O_RDWR|unix.O_CREAT), -1
	t.Later(func() { _ = unix.Close(x.again) })
	steps := []func(){x.write, x.write, x.append, x.read, x.read, x.readOnly, x.store, x.store, x.load, x.truncate, x.punch, x.zero, x.allocate, x.copyWithin, x.copyOut, x.reopen, x.sync}
	for i := range 1500 {
		steps[x.r.IntN(len(steps))]()
		if !x.alike(i%25 == 24) {
			return
		}
	}
	t.Note("alike")
}

func (x *exerciser) did(format string, args ...any) {
	x.done = append(x.done, fmt.Sprintf(format, args...))
}

// span is a place in the file or beyond, and a length.
func (x *exerciser) span(beyond int) (off, n int) {
	off = x.r.IntN(min(len(x.want)+beyond, exerciseMax-1) + 1)
	return off, 1 + x.r.IntN(min(exerciseMax-off, 20000))
}

// within is a span of bytes that the file has; n is 0 when it has none.
func (x *exerciser) within() (off, n int) {
	if len(x.want) == 0 {
		return 0, 0
	}
	off = x.r.IntN(len(x.want))
	return off, 1 + x.r.IntN(len(x.want)-off)
}

func (x *exerciser) grow(size int) {
	if size > len(x.want) {
		x.want = append(x.want, make([]byte, size-len(x.want))...)
	}
}

func (x *exerciser) put(off int, data []byte) {
	x.grow(off + len(data))
	copy(x.want[off:], data)
}

func (x *exerciser) write() {
	off, n := x.span(5000)
	data := operation.Pattern(n, x.r.IntN(1000))
	x.did("write %d+%d", off, n)
	got, err := unix.Pwrite(x.rw, data, int64(off))
	must(err)
	x.put(off, data[:got])
}

func (x *exerciser) append() {
	if len(x.want) > exerciseMax-5000 {
		return
	}
	data := operation.Pattern(1+x.r.IntN(5000), x.r.IntN(1000))
	x.did("append %d", len(data))
	fd, err := unix.Open(x.t.At("f"), unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0)
	must(err)
	_, err = unix.Write(fd, data)
	must(err)
	must(unix.Close(fd))
	x.put(len(x.want), data)
}

func (x *exerciser) read()     { x.readBy("read", x.rw) }
func (x *exerciser) readOnly() { x.readBy("read-only", x.ro) }

func (x *exerciser) readBy(how string, fd int) {
	off, n := x.span(0)
	buf := make([]byte, n)
	got, err := unix.Pread(fd, buf, int64(off))
	must(err)
	want := x.want[min(off, len(x.want)):min(off+n, len(x.want))]
	x.did("%s %d+%d", how, off, n)
	if !bytes.Equal(buf[:got], want) {
		x.differ(how, off, buf[:got], want)
	}
}

func (x *exerciser) store() {
	off, n := x.within()
	if n == 0 {
		return
	}
	n = min(n, 20000)
	data := operation.Pattern(n, x.r.IntN(1000))
	page := off &^ 4095
	m, err := unix.Mmap(x.rw, int64(page), off-page+n, readWrite, unix.MAP_SHARED)
	must(err)
	copy(m[off-page:], data)
	how := x.r.IntN(3)
	x.did("store %d+%d sync %d", off, n, how)
	if how == 0 {
		must(unix.Msync(m, unix.MS_SYNC))
	}
	must(unix.Munmap(m))
	x.put(off, data)
}

func (x *exerciser) load() {
	off, n := x.within()
	if n == 0 {
		return
	}
	page := off &^ 4095
	m, err := unix.Mmap(x.ro, int64(page), off-page+n, unix.PROT_READ, unix.MAP_SHARED)
	must(err)
	got := bytes.Clone(m[off-page:])
	must(unix.Munmap(m))
	x.did("load %d+%d", off, n)
	if !bytes.Equal(got, x.want[off:off+n]) {
		x.differ("load", off, got, x.want[off:off+n])
	}
}

func (x *exerciser) truncate() {
	size := x.r.IntN(exerciseMax)
	if x.r.IntN(3) > 0 && len(x.want) > 0 {
		size = x.r.IntN(len(x.want) + 1)
	}
	x.did("truncate %d", size)
	must(unix.Ftruncate(x.rw, int64(size)))
	x.want = x.want[:min(size, len(x.want))]
	x.want = append(make([]byte, 0, exerciseMax), x.want...)
	x.grow(size)
}

func (x *exerciser) punch() {
	off, n := x.span(0)
	x.did("punch %d+%d", off, n)
	must(unix.Fallocate(x.rw, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(off), int64(n)))
	x.clear(off, n)
}

func (x *exerciser) clear(off, n int) {
	if off < len(x.want) {
		clear(x.want[off:min(off+n, len(x.want))])
	}
}

func (x *exerciser) zero() {
	off, n := x.span(3000)
	x.did("zero %d+%d", off, n)
	must(unix.Fallocate(x.rw, unix.FALLOC_FL_ZERO_RANGE, int64(off), int64(n)))
	x.grow(off + n)
	x.clear(off, n)
}

func (x *exerciser) allocate() {
	off, n := x.span(3000)
	x.did("allocate %d+%d", off, n)
	must(unix.Fallocate(x.rw, 0, int64(off), int64(n)))
	x.grow(off + n)
}

// copyWithin copies inside the file, between parts that do not overlap.
func (x *exerciser) copyWithin() {
	from, n := x.within()
	to, _ := x.span(1000)
	n = min(n, 20000, exerciseMax-to)
	if n <= 0 || from < to+n && to < from+n {
		return
	}
	x.copyRange(x.rw, from, x.rw, to, n)
	x.put(to, bytes.Clone(x.want[from:from+n]))
}

// copyOut copies to another file and back from it to somewhere else.
func (x *exerciser) copyOut() {
	from, n := x.within()
	to, _ := x.span(1000)
	if n = min(n, 20000, exerciseMax-to); n <= 0 {
		return
	}
	data := bytes.Clone(x.want[from : from+n])
	x.copyRange(x.ro, from, x.other, 5, n)
	x.copyRange(x.other, 5, x.rw, to, n)
	x.put(to, data)
}

func (x *exerciser) copyRange(in, from, out, to, n int) {
	x.did("copy %d+%d to %d", from, n, to)
	a, b := int64(from), int64(to)
	for n > 0 {
		got, err := unix.CopyFileRange(in, &a, out, &b, n, 0)
		must(err)
		if got == 0 {
			panic("copied nothing")
		}
		n -= got
	}
}

func (x *exerciser) reopen() {
	x.did("reopen")
	_ = unix.Close(x.again)
	fd, err := unix.Open(x.t.At("f"), []int{unix.O_RDONLY, unix.O_RDWR, unix.O_WRONLY}[x.r.IntN(3)]|unix.O_CLOEXEC, 0)
	must(err)
	x.again = fd
}

func (x *exerciser) sync() {
	x.did("sync")
	must(unix.Fsync(x.rw))
}

// alike looks at the size after each step, and at everything now and then.
func (x *exerciser) alike(whole bool) bool {
	var st unix.Stat_t
	must(unix.Fstat(x.ro, &st))
	if st.Size != int64(len(x.want)) {
		x.t.Note("size %d, want %d after %v", st.Size, len(x.want), x.last())
		return false
	}
	if whole {
		text, err := os.ReadFile(x.t.At("f"))
		must(err)
		if !bytes.Equal(text, x.want) {
			x.differ("whole", 0, text, x.want)
		}
	}
	return len(x.t.notes) == 0
}

func (x *exerciser) last() []string { return x.done[max(0, len(x.done)-12):] }

func (x *exerciser) differ(how string, off int, got, want []byte) {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	x.t.Note("%s differs at %d of %d (got %d bytes, want %d) after %v", how, off+at, len(x.want), len(got), len(want), x.last())
}
