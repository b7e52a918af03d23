package gate

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// Member reports whether a process belongs to the holder, by the holder's scope. It reads /proc for
// the scopes tree and cgroup.
func (r *Resolver) Member(h lease.Holder, id Identity) bool {
	switch Scope(h.Scope) {
	case ScopeMount:
		return true
	case ScopeUser:
		return h.ScopeKey == strconv.FormatUint(uint64(id.UID), 10)
	}
	if id.PID == 0 || h.BootID != host().bootID || h.PIDNamespace != host().pidNS {
		return false
	}
	switch Scope(h.Scope) {
	case ScopeSession:
		return inSession(h.ScopeKey, id)
	case ScopeCgroup:
		c, err := readCgroup(id.PID)
		return err == nil && (c == h.ScopeKey || strings.HasPrefix(c, h.ScopeKey+"/"))
	case ScopeTree, ScopeDefault:
		return h.PID != 0 && descends(id, roots(h))
	}
	return false
}

// inSession compares session ids. The kernel does not reuse the number of a session while a process
// is in it. So the number decides. If the leader lives, its start time also tells a later session
// of the same number apart.
func inSession(key string, id Identity) bool {
	sid, start, ok := parseSessionKey(key)
	return ok && sid != 0 && sid == id.Session && (id.SessionStart == start || id.SessionStart == 0)
}

// ancestorsMax bounds a walk upwards. Deeper trees do not occur, and a loop in /proc must not hang
// the daemon.
const ancestorsMax = 512

// descends walks from a process to its ancestors. It believes a parent only if the child still has
// this parent afterwards: then the parent was alive.
func descends(id Identity, roots []process) bool {
	at, began, parent := id.PID, id.Start, id.PPID
	for range ancestorsMax {
		if slices.Contains(roots, process{at, began}) {
			return true
		}
		if parent <= 0 {
			return false
		}
		st, err := ReadStat(parent)
		if err != nil {
			return false
		}
		if child, err := ReadStat(at); err != nil || child.Start != began || child.PPID != parent {
			return false
		}
		at, began, parent = parent, st.Start, st.PPID
	}
	return false
}

// members remembers which processes belong to the holder of the open epoch. A descendant stays one
// when its parents end. A process that does not belong cannot join later. But a parent may have
// ended between two reads, and then the answer was wrong. So a no is kept for identityTTL only.
type members struct {
	mu   sync.Mutex
	of   *epoch
	seen map[process]membership
}

type membership struct {
	yes   bool
	until time.Duration // boot clock
}

type process struct {
	pid   int
	start uint64
}

// membersMax bounds the memory for a holder that starts very many processes.
const membersMax = 65536

func (m *members) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of, m.seen = nil, nil
}

func (m *members) member(r *Resolver, e *epoch, id Identity) bool {
	if s := Scope(e.holder().Scope); s != ScopeTree || id.PID == 0 {
		return r.Member(e.holder(), id) // cheap, or it may change while the process lives
	}
	key := process{id.PID, id.Start}
	m.mu.Lock()
	if m.of != e || len(m.seen) > membersMax {
		m.of, m.seen = e, make(map[process]membership)
	}
	known := m.seen[key]
	m.mu.Unlock()
	now := r.clock.Boot()
	if known.yes || now < known.until {
		return known.yes
	}
	yes := r.Member(e.holder(), id)
	m.mu.Lock()
	if m.of == e {
		m.seen[key] = membership{yes, now + identityTTL}
	}
	m.mu.Unlock()
	return yes
}
