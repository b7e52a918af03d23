package git

import (
	"errors"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// What is judged by the content must not change between the judgement and the deed. So every change in
// a repository holds change: shared, or alone if the content decides. It is taken when the gates have
// agreed, and the judgement is then made again; nobody waits for a lease while holding it.

// Ask implements [engine.Policy]: it refuses to take a lock file away from a living creator, and to change it.
func (g *Repository) Ask(m *engine.Mutation) error {
	switch {
	case m.Op == gate.OpUnlink:
		return g.askName(m, 0)
	case m.Op == gate.OpRename:
		return errors.Join(g.askName(m, 0), g.askName(m, 1))
	case len(m.Names) == 0 && !m.Inode.IsDir():
		return kept(m.Op, m.Caller, g.locks.keeper(m.Inode.Key(), m.Caller))
	}
	return nil
}

func (g *Repository) askName(m *engine.Mutation, i int) error {
	return kept(m.Op, m.Caller, g.locks.keptFrom(m.Caller, m.Names[i].Dir, m.Names[i].Name))
}

// Plan implements [engine.Policy].
func (g *Repository) Plan(m *engine.Mutation, p *engine.Plan) error {
	var by engine.Judgement
	if m.Judge != nil {
		by = m.Judge.By()
	}
	here := concerns(m)
	if by.Content || here {
		p.Hold(engine.Repository, &g.change, by.Content)
	}
	if m.Judge != nil && (by.Content || here && len(m.Names) == 0) {
		p.Judge(func() error { return stands(m.Judge) })
	}
	switch m.Op {
	case gate.OpUnlink, gate.OpRmdir, gate.OpRename:
		g.locks.plan(m, p)
	}
	return nil
}

// concerns reports whether a change is one of a file in the repository, or of names there.
func concerns(m *engine.Mutation) bool {
	if len(m.Names) == 0 {
		return !m.Inode.IsDir() && m.Inode.In(inRepository)
	}
	for _, n := range m.Names {
		if inRepository(n.Dir) {
			return true
		}
	}
	return false
}

// stands finds out whether a change would be judged as it was.
func stands(j engine.Judge) error {
	by, now := j.By(), j.Again()
	if now.Content != by.Content || !layout.SameRules(by.Rules, now.Rules) {
		return engine.ErrAgain
	}
	return nil
}

// plan has no lock file removed here while a request changes the name of one.
func (l *lockFiles) plan(m *engine.Mutation, p *engine.Plan) {
	some := false
	for _, n := range m.Names {
		some = some || layout.IsLock(n.Name)
	}
	if !some {
		return
	}
	p.Hold(engine.LockFiles, &l.names, false)
	p.Judge(func() error {
		for i, n := range m.Names { // both: what is no lock file by its name may take the place of one
			m.Names[i].Was = tree.Key{} // of an earlier try
			if st, ok := tree.Stat(n.Dir.FD(), n.Name); ok {
				m.Names[i].Was = tree.KeyOf(&st)
			}
		}
		return nil
	})
}

// After implements [engine.Policy].
func (g *Repository) After(*engine.Mutation) {}

// Done implements [engine.Policy]: it notes lock files that were made, moved and removed.
func (g *Repository) Done(m *engine.Mutation) {
	none := tree.Key{}
	switch m.Op {
	case gate.OpCreate:
		g.lockMade(m.Caller, m.Names[0].Dir, m.Names[0].Name, m.Made)
	case gate.OpUnlink, gate.OpRmdir:
		if k := m.Names[0].Was; k != none {
			g.locks.unlock(k)
		}
	case gate.OpRename:
		switch was, replaced := m.Names[0].Was, m.Names[1].Was; {
		case replaced != none && layout.IsLock(m.Names[1].Name):
			g.locks.moved(was, &replaced)
		case was != none:
			g.locks.moved(was, nil)
		}
	}
}
