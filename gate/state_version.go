package gate

import (
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// StateVersion is under which token a worktree stood at a moment, and in which window.
type StateVersion struct {
	token  lease.Token
	window *Window
}

// StateVersion returns the version of the worktree now.
func (g *Guard) StateVersion() StateVersion {
	head, _ := g.keeper.Observe()
	s := StateVersion{token: head.Token}
	if e := g.open.Load(); e != nil && e.id.kind == kindLease && e.id.Token() == head.Token {
		s.token = lease.Token(e.since) // the same holder resumed after a pause: nobody wrote in between
	}
	if f := g.frozen.Load(); f != nil {
		s.window = f.window
	}
	return s
}

// Unchanged reports whether nobody else may have written since a version: in the window that was open, in which the token may change and the
// next holder waits, too; or else under the same token.
func (g *Guard) Unchanged(was StateVersion) bool {
	if was.window == nil {
		return g.StateVersion().token == was.token
	}
	return !wait.Happened(was.window.Over())
}
