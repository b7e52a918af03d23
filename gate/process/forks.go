package process

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forks learns from the kernel which process makes which, while former processes are followed. /proc loses
// this after a double fork. It needs CAP_PERFMON in the first user namespace; without it only
// living ancestors are known. Source: perf_event_open(2), attr.task. Safe for concurrent use.
type forks struct {
	exits *ExitWatch // wakes when a ring fills; nil: the rings are read only when somebody asks

	mu       sync.Mutex
	rings    []*forkRing
	followed []*Former
}

// forkRing is the ring buffer of one processor.
type forkRing struct {
	fd    int
	watch int32
	mem   []byte
	data  []byte
}

const (
	ringPages = 64
	// followedMax bounds the work for each fork.
	followedMax = 64
)

// born is one process made by another.
type born struct {
	by, pid int
	at      time.Duration // boot clock
}

// follow begins to listen for processes that others make. Call it before those are listed.
func (f *forks) follow(c *Former) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rings == nil && !f.open() {
		f.close()
		return
	}
	f.followed = append(f.followed, c)
	if len(f.followed) > followedMax {
		f.followed = f.followed[1:]
	}
}

// catchUp takes in what the kernel has told so far.
func (f *forks) catchUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followed = slices.DeleteFunc(f.followed, func(c *Former) bool { return c.over.Load() }); len(f.followed) == 0 {
		f.close()
		return
	}
	var all []born
	for _, r := range f.rings {
		all = r.read(all)
	}
	slices.SortStableFunc(all, func(a, b born) int { return int(a.at - b.at) })
	for _, b := range all {
		for _, c := range f.followed {
			c.made(b)
		}
	}
}

// open makes a ring for each processor.
func (f *forks) open() bool {
	for cpu := range runtime.NumCPU() {
		r, err := openRing(cpu)
		if err != nil {
			return false
		}
		f.rings = append(f.rings, r)
		f.arm(r)
	}
	return true
}

func openRing(cpu int) (*forkRing, error) {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: unix.PERF_ATTR_SIZE_VER5,
		Bits: unix.PerfBitTask | unix.PerfBitUseClockID | unix.PerfBitWatermark, Clockid: unix.CLOCK_BOOTTIME,
		Wakeup: uint32(ringPages * unix.Getpagesize() / 4),
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	page := unix.Getpagesize()
	mem, err := unix.Mmap(fd, 0, (1+ringPages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &forkRing{fd: fd, mem: mem, data: mem[page:]}, nil
}

// arm has the ring read when a quarter of it is full. If that fails it is read when somebody asks.
func (f *forks) arm(r *forkRing) {
	if f.exits == nil {
		return
	}
	r.watch, _ = f.exits.watch(r.fd, func() {
		f.catchUp()
		f.mu.Lock()
		defer f.mu.Unlock()
		if slices.Contains(f.rings, r) {
			f.exits.forget(r.fd, r.watch)
			f.arm(r)
		}
	})
}

// close frees the rings. The caller has the lock.
func (f *forks) close() {
	for _, r := range f.rings {
		if f.exits != nil {
			f.exits.forget(r.fd, r.watch)
		}
		_ = unix.Munmap(r.mem)
		_ = unix.Close(r.fd)
	}
	f.rings, f.followed = nil, nil
}

// end stops listening.
func (f *forks) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
}

// read appends what is new in the ring. Layout of a record: type 4, misc 2, size 2; of a fork: pid
// 4, ppid 4, tid 4, ptid 4, time 8.
func (r *forkRing) read(all []born) []born {
	meta := (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.mem[0]))
	head, tail := atomic.LoadUint64(&meta.Data_head), meta.Data_tail
	buf := make([]byte, head-tail)
	for i := range buf {
		buf[i] = r.data[(tail+uint64(i))%uint64(len(r.data))]
	}
	atomic.StoreUint64(&meta.Data_tail, head)
	for len(buf) >= 8 {
		size := int(binary.NativeEndian.Uint16(buf[6:]))
		if size < 8 || size > len(buf) {
			break
		}
		if binary.NativeEndian.Uint32(buf) == unix.PERF_RECORD_FORK && size >= 32 {
			pid, by := int(int32(binary.NativeEndian.Uint32(buf[8:]))), int(int32(binary.NativeEndian.Uint32(buf[12:])))
			if pid != by && pid > 0 { // otherwise it is a thread, or of another pid namespace
				all = append(all, born{by, pid, time.Duration(binary.NativeEndian.Uint64(buf[24:]))})
			}
		}
		buf = buf[size:]
	}
	return all
}
