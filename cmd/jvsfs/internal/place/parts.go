package place

import (
	"fmt"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
)

// WithRules is the place with its rules. It fails if they make worktrees of directories where something else does.
func (p Place) WithRules(rules *lockfile.Rules) (Place, error) {
	p.Rules = rules
	leases := rules.Leases()
	switch {
	case len(leases) == 0:
		return p, nil
	case p.Shape == api.ShapeWorktree:
		return p, &api.Failure{Class: api.ClassUsage,
			Message: fmt.Sprintf("rule %s makes worktrees of directories (taken_by: lease), and %s is a worktree of the repository %s already", leases[0].Name, p.Root, p.Repo),
			Next:    "mount it without that rule"}
	case p.Layout != layout.Tree:
		return p, &api.Failure{Class: api.ClassUsage,
			Message: fmt.Sprintf("rule %s makes worktrees of directories (taken_by: lease), and the layout %s of %s has worktrees of its own", leases[0].Name, p.Layout, p.Root),
			Next:    fmt.Sprintf("mount it without that rule, or for the rule: jvsfs mount --layout %s %s", layout.Tree, human.Typed(p.Root))}
	}
	return p, nil
}

// PartsText tells rules apart that make different worktrees. Two mounts of one directory must agree about them, as they
// must about its records: else one would let a holder write where the other has another lease.
func (p Place) PartsText() string {
	var b strings.Builder
	for _, r := range p.Rules.Leases() {
		fmt.Fprintf(&b, " %q %q %q", r.Name, r.Guards, r.Except)
	}
	return b.String()
}
