package daemon

import (
	"cmp"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// ruleFor is how a worktree is configured. A rule with taken_by: lease gives a part its lease, also where the mode is
// shared: that is for what no rule covers. The configuration may still say otherwise for one worktree.
func (d *Daemon) ruleFor(id lease.WorktreeID) mountcfg.WorktreeRule {
	rule := d.given.cfg.For(string(id))
	if d.given.layout.IsPart(id) {
		rule.Mode = cmp.Or(d.given.cfg.Worktrees[string(id)].Mode, string(gate.Exclusive))
	}
	return rule
}

// wrote names what is being written, to everybody. Where not everybody can come to the source, it names nothing.
func (d *Daemon) wrote(node int, name string) string {
	if !d.given.reached {
		return ""
	}
	return d.has.fs.Wrote(node, name)
}
