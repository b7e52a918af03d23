package gate

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// Member reports whether a process belongs to the holder, by the holder's scope. It reads /proc for
// the scopes tree and cgroup.
func (r *Resolver) Member(h lease.Holder, id process.Identity) bool {
	switch Scope(h.Scope) {
	case ScopeMount:
		return true
	case ScopeUser:
		return h.ScopeKey == strconv.FormatUint(uint64(id.UID), 10)
	}
	if id.PID == 0 || !isLocal(h) {
		return false
	}
	switch Scope(h.Scope) {
	case ScopeSession:
		return inSession(h.ScopeKey, id)
	case ScopeCgroup:
		c, err := process.Cgroup(id.PID)
		return err == nil && (c == h.ScopeKey || strings.HasPrefix(c, h.ScopeKey+"/"))
	case ScopeTree, ScopeDefault:
		return h.PID != 0 && id.DescendsFrom(roots(h)...)
	}
	return false
}

// inSession compares session ids. The kernel does not reuse the number of a session while a process
// is in it. So the number decides. If the leader lives, its start time also tells a later session
// of the same number apart.
func inSession(key string, id process.Identity) bool {
	leader, ok := parseProcessKey(key)
	return ok && leader.PID != 0 && leader.PID == id.Session && (id.SessionStart == leader.Start || id.SessionStart == 0)
}

// isLocal reports whether a holder's numbers mean something here: it is of this boot and this pid namespace.
func isLocal(h lease.Holder) bool {
	return h.BootID == process.BootID() && h.PIDNamespace == process.PIDNamespace()
}

// processKey is a scope key that names a process, such as the leader of a session.
func processKey(p process.ID) string {
	return strconv.Itoa(p.PID) + ":" + strconv.FormatUint(p.Start, 10)
}

func parseProcessKey(key string) (p process.ID, ok bool) {
	a, b, found := strings.Cut(key, ":")
	pid, err1 := strconv.Atoi(a)
	start, err2 := strconv.ParseUint(b, 10, 64)
	return process.ID{PID: pid, Start: start}, found && err1 == nil && err2 == nil
}

// members remembers which processes belong to the holder of the open epoch. A descendant stays one
// when its parents end. A process that does not belong cannot join later. But a parent may have
// ended between two reads, and then the answer was wrong. So a no is kept for process.IdentityTTL only.
type members struct {
	mu   sync.Mutex
	of   *epoch
	seen map[process.ID]membership
}

type membership struct {
	yes   bool
	until time.Duration // boot clock
}

// membersMax bounds the memory for a holder that starts very many processes.
const membersMax = 65536

func (m *members) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of, m.seen = nil, nil
}

func (m *members) member(r *Resolver, e *epoch, id process.Identity) bool {
	if s := Scope(e.holder().Scope); s != ScopeTree || id.PID == 0 {
		return r.Member(e.holder(), id) // cheap, or it may change while the process lives
	}
	key := id.ID()
	m.mu.Lock()
	if m.of != e || len(m.seen) > membersMax {
		m.of, m.seen = e, make(map[process.ID]membership)
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
		m.seen[key] = membership{yes, now + process.IdentityTTL}
	}
	m.mu.Unlock()
	return yes
}

// Holds reports whether a caller belongs to the holder of the lease that is open here.
func (g *Guard) Holds(c process.Caller) bool {
	e := g.open.Load()
	if e == nil || e.over(g.cfg.Clock.Boot()) {
		return false
	}
	id, err := g.cfg.Resolver.Identify(c)
	if s := Scope(e.holder().Scope); err != nil && s != ScopeUser && s != ScopeMount {
		return false
	}
	return g.members.member(g.cfg.Resolver, e, id)
}
