package gate

import "github.com/jvsfs/jvsfs/gate/process"

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
