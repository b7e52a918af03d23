package fusefs

import (
	"runtime/debug"
	"slices"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// budget keeps the number of inodes, each of which costs a descriptor, below what
// the process may have. Above the high mark the kernel is asked to let go of
// inodes that nobody uses (FUSE_NOTIFY_PRUNE, protocol 7.45); it gives them back
// by FORGET.
type budget struct {
	high int64 // inodes; above it some are pruned
	full int64 // inodes and handles; above it the caller is told ENFILE
	wake chan struct{}
}

// reserve is what the daemon keeps for itself: locks, /proc, its control socket. A
// caller that pins more inodes than there are descriptors must not stop renewals.
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
	return &budget{high: full / 4 * 3, full: full, wake: make(chan struct{}, 1)}
}

// memory is what the daemon should not need more of, in bytes: an inode that the
// kernel remembers takes less than 1 KiB of it, with its name and its place; the
// buffers of readers are touched only as far as requests are long.
func (b *budget) memory() int64 { return 128<<20 + b.full<<10 + 2*readersMax*requestSize }

// grown is told the number of inodes after each new one.
func (b *budget) grown(inodes int64) {
	if inodes < b.high {
		return
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// roomWait bounds how long a request waits for the kernel to forget something.
const roomWait = time.Second

// room reports whether there is a descriptor for one more inode or handle. It gives
// pruning a moment, so that a walk over a large tree is slowed down and not refused.
func (f *rawFS) room() bool {
	var end time.Time
	for ; ; time.Sleep(time.Millisecond) {
		used := f.nodes.count.Load() + f.handles.count.Load() + f.locks.count.Load()
		if used < f.budget.full {
			return true
		}
		f.budget.grown(used)
		if end.IsZero() {
			end = time.Now().Add(roomWait)
		} else if time.Now().After(end) {
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
		if err := f.prune(f.nodes.count.Load() - b.high/2); err == unix.ENOSYS && !warned {
			warned = true
			f.opts.Log.Warn("this kernel cannot be asked to forget inodes (Linux 6.18 can): raise the limit of open files",
				zap.Int64("inodes", f.nodes.count.Load()), zap.Int64("budget", b.high))
		}
	}
}

// prune asks the kernel to forget about that many inodes. Those in use stay. Old
// ones go first: ids only grow.
func (f *rawFS) prune(many int64) error {
	var ids []uint64
	f.nodes.all(func(n *node) bool {
		if n.id != fuse.FUSE_ROOT_ID {
			ids = append(ids, n.id)
		}
		return true
	})
	slices.Sort(ids)
	ids = ids[:min(max(many, 0), int64(len(ids)))]
	for batch := range slices.Chunk(ids, pruneBatch) {
		if err := f.kernel.prune(batch); err != nil && err != unix.ENOENT {
			return err
		}
	}
	return nil
}
