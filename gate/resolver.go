package gate

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
)

// Resolver finds the process of a request by its thread id. The caller is blocked in its system
// call meanwhile, so its entry in /proc is stable.
//
// A pidfd recognises a thread that was resolved before: while it is alive, its number cannot belong
// to another thread. A living process can change its session, so that is read again after
// identityTTL. Safe for concurrent use; Close frees the descriptors.
type Resolver struct {
	clock lease.Clock

	mu      sync.Mutex
	threads map[uint32]*resolved
	noPidfd bool

	forks       forks
	watched     watchedSet
	remainingMu sync.Mutex
	remaining   map[string]process // by session: one of its members, see Liveness
}

type resolved struct {
	id    Identity
	pidfd int
	until time.Duration // boot clock
}

const (
	identityTTL = 100 * time.Millisecond
	// resolvedMax bounds the number of pidfds.
	resolvedMax = 256
	// pidfdThread is PIDFD_THREAD (O_EXCL), Linux 6.9: a pidfd of one thread.
	pidfdThread = unix.O_EXCL
)

// NewResolver makes an empty resolver.
func NewResolver(c lease.Clock) *Resolver {
	return &Resolver{clock: c, threads: make(map[uint32]*resolved)}
}

// Identify resolves the caller of a request. For a caller without a pid here the error is
// errUnseen; the user id is set even then.
func (r *Resolver) Identify(c Caller) (Identity, error) {
	if c.TID == 0 {
		return Identity{UID: c.UID}, errUnseen
	}
	now := r.clock.Boot()
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.threads[c.TID]; t != nil {
		if now < t.until && unix.PidfdSendSignal(t.pidfd, 0, nil, 0) == nil {
			id := t.id
			id.UID = c.UID
			return id, nil
		}
		r.drop(c.TID)
	}
	return r.resolve(c, now)
}

// resolve opens the pidfd before it reads /proc. If the pidfd is alive afterwards, /proc was about
// the same thread.
func (r *Resolver) resolve(c Caller, now time.Duration) (Identity, error) {
	fd := -1
	if !r.noPidfd {
		var err error
		fd, err = unix.PidfdOpen(int(c.TID), pidfdThread)
		r.noPidfd = errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS)
	}
	id, err := identify(int(c.TID), c.UID)
	if fd < 0 {
		return id, err
	}
	if err != nil {
		_ = unix.Close(fd)
		return id, err
	}
	if len(r.threads) >= resolvedMax {
		r.dropAll()
	}
	r.threads[c.TID] = &resolved{id: id, pidfd: fd, until: now + identityTTL}
	return id, nil
}

func (r *Resolver) drop(tid uint32) {
	_ = unix.Close(r.threads[tid].pidfd)
	delete(r.threads, tid)
}

func (r *Resolver) dropAll() {
	for tid := range r.threads {
		r.drop(tid)
	}
}

// Hear lets the kernel wake the resolver before the rings of forks overflow. It must be called
// before anything is resolved.
func (r *Resolver) Hear(e *Ends) { r.forks.ends = e }

// Close frees the descriptors. The resolver stays usable.
func (r *Resolver) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropAll()
	r.watched.end()
	r.forks.end()
}
