package jvs

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
)

// JVS copies a worktree, and then publishes the copy. If the lease changes hands in between, the copy may be of no one state
// of the worktree. JVS does not see leases of jvsfs, so the mount remembers under which token a snapshot began.

// begunMax bounds how many snapshots are remembered that were begun. The oldest is forgotten first.
const begunMax = 256

// intentMax bounds the note that JVS makes of what it is about to do, in bytes.
const intentMax = 1 << 20

// begun are the snapshots that are being made. The zero value has none.
type begun struct {
	mu  sync.Mutex
	all []begunSnapshot
}

type begunSnapshot struct {
	id    string
	of    *layout.Rule
	guard *gate.Guard
	stood gate.StateVersion
}

func (b *begun) add(s begunSnapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(was begunSnapshot) bool { return was.id == s.id })
	if len(b.all) == begunMax {
		b.all = slices.Delete(b.all, 0, 1)
	}
	b.all = append(b.all, s)
}

func (b *begun) find(id string) (begunSnapshot, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.all, func(s begunSnapshot) bool { return s.id == id })
	if i < 0 {
		return begunSnapshot{}, false
	}
	return b.all[i], true
}

// unfinished is what JVS adds to the name of a snapshot that it makes.
const unfinished = ".tmp"

// begins notes how the worktree stands of which JVS begins a snapshot, when the directory for it is made. JVS has written down
// before of which one. Without that nothing is noted.
func (s *Snapshots) begins(n engine.Name) {
	if !inSnapshots(n.Dir) {
		return
	}
	rel, _ := s.tree.PathOf(n.Dir.FD(), n.Name)
	id, is := layout.SnapshotOf(rel)
	if !is || !layout.Publishes(rel) {
		return
	}
	id = strings.TrimSuffix(id, unfinished)
	r, is := s.worktreeOfIntent(id)
	if !is {
		return
	}
	if g, err := s.guard(r); err == nil { // an error is told when somebody writes there
		s.begun.add(begunSnapshot{id: id, of: r, guard: g, stood: g.StateVersion()})
	}
}

// worktreeOfIntent is the guard's rule of the worktree of which a snapshot is made.
func (s *Snapshots) worktreeOfIntent(id string) (*layout.Rule, bool) {
	text, err := s.tree.Read(".jvs/intents/"+id+".json", intentMax)
	var intent struct {
		Worktree string `json:"worktree_name"`
	}
	if err != nil || json.Unmarshal(text, &intent) != nil {
		return nil, false
	}
	root := intent.Worktree
	switch {
	case s.folder && root == "main": // what lies in the folder itself; other workspaces lie elsewhere
		return s.layout.Of("", true).Own, true
	case s.folder:
		return nil, false
	case root != "main":
		root = "worktrees/" + root
	}
	r := s.layout.Of(root, true).Own
	return r, r.Kind == layout.Guarded && !strings.Contains(intent.Worktree, "/") && s.tree.Exists(root)
}

// publishing refuses to publish a snapshot if its worktree does not stand as it did when the snapshot began.
func (s *Snapshots) publishing(op gate.Op, c process.Caller, rel string) error {
	id, is := layout.SnapshotOf(rel)
	if op == gate.OpUnlink || op == gate.OpRmdir || op == gate.OpMkdir || !is || !layout.Publishes(rel) {
		return nil
	}
	b, noted := s.begun.find(strings.TrimSuffix(id, unfinished))
	if !noted || b.guard.Unchanged(b.stood) {
		return nil
	}
	return &gate.Refusal{Reason: gate.ReasonOvertaken, Op: op, Caller: c, Worktree: b.of.Worktree}
}
