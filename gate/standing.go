package gate

import (
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// Standing is under which token a worktree stood at a moment, and in which window.
type Standing struct {
	token  lease.Token
	window *Window
}

// Stand returns how the worktree stands now.
func (g *Guard) Stand() Standing {
	head, _ := g.keeper.Observe()
	s := Standing{token: head.Token}
	if e := g.open.Load(); e != nil && e.id.kind == kindLease && e.id.Token() == head.Token {
		s.token = lease.Token(e.since) // the same holder went on after a pause: nobody wrote in between
	}
	if f := g.frozen.Load(); f != nil {
		s.window = f.window
	}
	return s
}

// Stands reports whether the worktree stands as it stood: in the window that was open, in which the token may change and the
// next holder waits, too; or else under the same token.
func (g *Guard) Stands(was Standing) bool {
	if was.window == nil {
		return g.Stand().token == was.token
	}
	return !wait.Happened(was.window.Over())
}
