package process

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells the time since boot.
type Clock interface{ Boot() time.Duration }

// Resolver finds the process of a request by its thread id. The caller is blocked in its system
// call meanwhile, so its entry in /proc is stable.
//
// A pidfd recognises a thread that was resolved before: while it is alive, its number cannot belong
// to another thread. A living process can change its session, so that is read again after
// IdentityTTL. Safe for concurrent use; Close frees the descriptors.
type Resolver struct {
	clock Clock

	mu      sync.Mutex
	threads map[uint32]*resolved
	noPidfd bool

	forks forks
	cache procCache
}

type resolved struct {
	id    Identity
	pidfd int
	until time.Duration // boot clock
}

const (
	// IdentityTTL is how long an identity is believed without being read again.
	IdentityTTL = 100 * time.Millisecond
	// resolvedMax bounds the number of pidfds.
	resolvedMax = 256
	// pidfdThread is PIDFD_THREAD (O_EXCL), Linux 6.9: a pidfd of one thread.
	pidfdThread = unix.O_EXCL
)

// NewResolver makes an empty resolver.
func NewResolver(c Clock) *Resolver {
	return &Resolver{clock: c, threads: make(map[uint32]*resolved)}
}

// Identify resolves the caller of a request. For a caller without a pid here the error is
// ErrUnseen; the user id is set even then.
func (r *Resolver) Identify(c Caller) (Identity, error) {
	if c.TID == 0 {
		return Identity{UID: c.UID}, ErrUnseen
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
	r.threads[c.TID] = &resolved{id: id, pidfd: fd, until: now + IdentityTTL}
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
func (r *Resolver) Hear(e *ExitWatch) { r.forks.exits = e }

// CatchUp takes in what the kernel has told of processes that former ones have made.
func (r *Resolver) CatchUp() { r.forks.catchUp() }

// Cached is a process that is opened once for all who look at it; nil if it has ended, or cannot be watched, or nothing is
// heard (Hear). Done must follow.
func (r *Resolver) Cached(p ID) *Cached { return r.cache.use(p, r.forks.exits, nil, nil) }

// Runs reports whether a process has not ended, with one system call if it is watched.
func (r *Resolver) Runs(p ID) bool { return r.cache.runs(p) || p.Runs() }

// Close frees the descriptors. The resolver stays usable.
func (r *Resolver) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropAll()
	r.cache.end()
	r.forks.end()
}
