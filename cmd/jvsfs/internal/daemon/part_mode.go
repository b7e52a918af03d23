package daemon

import (
	"cmp"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// ruleFor is how a worktree is configured. A rule with taken_by: lease gives a part its lease, also where the mode is
// shared: that is for what no rule covers. The configuration may still say otherwise for one worktree.
func (d *mount) ruleFor(id lease.WorktreeID) mountcfg.WorktreeRule {
	rule := d.cfg.For(string(id))
	if d.layout.IsPart(id) {
		rule.Mode = cmp.Or(d.cfg.Worktrees[string(id)].Mode, string(gate.Exclusive))
	}
	return rule
}

// wrote names what is being written, to everybody. Where not everybody can come to the source, it names nothing.
func (d *mount) wrote(node int, name string) string {
	if !d.reached {
		return ""
	}
	return d.fs.Wrote(node, name)
}
