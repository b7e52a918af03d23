package fusefs

import (
	"cmp"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// budget keeps the number of inodes below what the process may have, because each costs a
// descriptor. Above the high mark the kernel is asked to forget inodes that nobody uses
// (FUSE_NOTIFY_PRUNE, protocol 7.45). It answers with FORGET.
type budget struct {
	high int64 // inodes; above it some are pruned
	full int64 // inodes and handles; above it the caller is told ENFILE
	// open is for callers without a lease; the rest is kept for those with one. user is the part of
	// one user without a lease.
	open, user int64
	wake       chan struct{}
	wait       time.Duration // roomWait
}

// reserve is what the daemon keeps for itself: locks, /proc, its control socket. A caller that pins
// more inodes than there are descriptors must not stop renewals.
func reserve(descriptors int64) int64 { return max(descriptors/16, min(256, descriptors/4)) }

// pruneBatch is how many inodes one notification names.
const pruneBatch = 1024

func newBudget(descriptors uint64) *budget {
	if descriptors == 0 {
		var l unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil {
			descriptors = l.Cur
		}
	}
	d := int64(min(descriptors, 1<<40))
	full := d - reserve(d)
	open := full - full/8
	return &budget{high: full / 4 * 3, full: full, open: open, user: full / 2, wake: make(chan struct{}, 1), wait: roomWait}
}

// memory is what the daemon should need at most, in bytes. An inode that the kernel remembers takes
// less than 1 KiB, with its name and place. The buffers of readers do not count (buffers).
func (b *budget) memory() int64 { return 256<<20 + b.full<<10 }

// grown is called after each new inode, with their number and the share of its user.
func (b *budget) grown(inodes int64, who *userQuota) {
	if inodes < b.high && who.inodes.Load() < b.user/4*3 {
		return
	}
	b.stir()
}

func (b *budget) stir() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// roomWait bounds how long a request waits for the kernel to forget something.
const roomWait = time.Second

// room reports whether there is a descriptor for one more inode or handle of a caller. It waits a
// moment for pruning. So a walk over a large tree becomes slower, but is not refused.
func (f *rawFS) room(h *fuse.InHeader) bool {
	b, who := f.budget, f.quotas.by(h.Uid)
	var end time.Time
	for ; ; time.Sleep(time.Millisecond) {
		used := f.nodes.count.Load() + f.handles.fds.Load() + f.locks.Count.Load()
		if used < b.open && who.all() < b.user {
			return true
		}
		b.stir()
		switch {
		case end.IsZero():
			if used < b.full && f.leaseIsOf(h) {
				return true
			}
			end = time.Now().Add(b.wait)
		case time.Now().After(end):
			return false
		}
	}
}

// run prunes until stop is closed.
func (b *budget) run(f *rawFS, stop <-chan struct{}) {
	debug.SetMemoryLimit(b.memory())
	warned := false
	for {
		select {
		case <-stop:
			return
		case <-b.wake:
		}
		if err := f.pruneAll(); errors.Is(err, unix.ENOSYS) && !warned {
			warned = true
			f.opts.Log.Warn("this kernel cannot be asked to forget inodes (Linux 6.18 can): raise the limit of open files",
				zap.Int64("inodes", f.nodes.count.Load()), zap.Int64("budget", b.high))
		}
	}
}

// pruneAll prunes if there are too many inodes, in total or of one user.
func (f *rawFS) pruneAll() error {
	var err error
	if f.nodes.count.Load()+f.handles.fds.Load() >= f.budget.high {
		err = f.prune(f.nodes.count.Load()-f.budget.high/2, func(*node) bool { return true })
	}
	f.quotas.of.Range(func(_, v any) bool {
		who := v.(*userQuota)
		if who.all() >= f.budget.user/4*3 {
			err = cmp.Or(err, f.prune(who.inodes.Load()-f.budget.user/4, func(n *node) bool { return n.quota == who }))
		}
		return true
	})
	return err
}

// prune asks the kernel to forget about that many inodes that match. Inodes in use stay. Old ones
// go first: ids only grow.
func (f *rawFS) prune(many int64, of func(*node) bool) error {
	var ids []uint64
	f.nodes.all(func(n *node) bool {
		if n.id != fuse.FUSE_ROOT_ID && of(n) {
			ids = append(ids, n.id)
		}
		return true
	})
	slices.Sort(ids)
	ids = ids[:min(max(many, 0), int64(len(ids)))]
	for batch := range slices.Chunk(ids, pruneBatch) {
		if err := f.kernel.Prune(batch); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}
