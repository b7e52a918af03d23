package etcd

import (
	"fmt"

	"github.com/jvsfs/jvsfs/lease"
)

// keys are those of one worktree.
type keys struct {
	id                 lease.WorktreeID
	head, alive, floor string
	pasts, audits      string // with a slash at the end
}

func (s *Session) keysOf(id lease.WorktreeID) keys {
	p := s.cfg.Prefix
	name := string(id)
	return keys{id: id, head: p + "/head/" + name, alive: p + "/alive/" + name, floor: p + "/floor/" + name,
		pasts: p + "/past/" + name + "/", audits: p + "/audit/" + name + "/"}
}

func (k keys) past(t lease.Token) string { return fmt.Sprintf("%s%020d", k.pasts, uint64(t)) }

func (k keys) audit(t lease.Token, what lease.EventKind) string {
	return fmt.Sprintf("%s%020d/%s", k.audits, uint64(t), what)
}
