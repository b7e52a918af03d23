// Package engine is where all who have a say in a change are asked: the policies that a mount has, and none that it has not. It knows in
// which order what a change needs is taken, and takes it.
//
// It promises that a change which it has admitted stays admitted until its permit ends: what a policy has asked for is held, and the last
// word was spoken while it was held. It does not ask the leases' gates (package gate): whoever has their passes comes here with them.
package engine

import (
	"errors"
	"slices"
	"sync"
	"syscall"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Name is a name in a directory.
type Name struct {
	Dir  tree.Inode
	Name string
	// Was is what lay there when all was held, as a policy has noted it that needs it when the change is done. The zero value: none has.
	Was tree.Key
}

// Judgement is by which rules the gates are asked about a change, and whether the content of files decided which.
type Judgement struct {
	Rules   []*layout.Rule
	Content bool
}

// Judge tells the judgement of one change.
type Judge interface {
	// By is the one by which the gates have agreed.
	By() Judgement
	// Again is the one by which they would be asked now.
	Again() Judgement
}

// ErrAgain is what a policy says of a change that would be judged otherwise by now: the gates are to be asked again.
var ErrAgain = errors.New("it would be judged otherwise by now")

// Mutation is one change that a request asks for.
type Mutation struct {
	Op     gate.Op
	Caller process.Caller
	// Inode is whose content or attributes change, or which gets a further name (link). nil: none.
	Inode tree.Inode
	// Names change: they come, go, or change hands. Of a rename it is both, the old one first.
	Names []Name
	// Judge is nil for what is judged by the epochs of a handle.
	Judge Judge
	// Made is the inode that was made, if a policy needs it when the change is done. See [Admitted.Made].
	Made tree.Key
}

// Policy is one kind of guard over places. Its methods may be called at the same time.
type Policy interface {
	// Ask judges before anybody waits, and before a lease is taken for the change: what it refuses is refused to whoever asks. An error is
	// the answer: a *[gate.Refusal], which is counted and told, [Told], which is counted, or a [syscall.Errno]. Of several that are joined the
	// first is the answer, and a mount that only observes tells each.
	Ask(m *Mutation) error
	// Plan says, when the gates have agreed, what must be held while the change is made, and by whom it is judged then. It takes nothing and
	// waits for nobody. An error is as that of Ask, or [ErrAgain].
	Plan(m *Mutation, p *Plan) error
	// Done says that the change was made. What was planned is still held, so it waits for nobody.
	Done(m *Mutation)
	// After follows when nothing is held any more. It may wait.
	After(m *Mutation)
}

// Told is a refusal that was told already.
type Told struct{ Errno syscall.Errno }

func (t Told) Error() string { return t.Errno.Error() }

// Plan is what a change needs.
type Plan struct {
	locks []held
	words []func() error
}

// Hold has a lock held until the change is made, alone or with others. It may be needed more than once.
func (p *Plan) Hold(r Rank, l *sync.RWMutex, alone bool) {
	for i := range p.locks {
		if p.locks[i].lock == l {
			p.locks[i].alone = p.locks[i].alone || alone
			return
		}
	}
	p.locks = append(p.locks, held{r, l, alone})
}

// Judge has the change judged when all is held. An error is as that of [Policy.Plan].
func (p *Plan) Judge(word func() error) { p.words = append(p.words, word) }

// Policies are those that a mount has.
type Policies []Policy

// Admitted is a change that the policies have admitted. nil is one of a mount without policies.
type Admitted struct {
	by   Policies
	of   Mutation
	plan Plan
}

var pool = sync.Pool{New: func() any { return new(Admitted) }}

// Ask asks the policies whether it is worth to go on.
func (all Policies) Ask(m *Mutation) error {
	for _, p := range all {
		if err := p.Ask(m); err != nil {
			return err
		}
	}
	return nil
}

// Admit asks the policies. What they need is in h afterwards, also after an error. [Admitted.Drop] must follow unless there was an error.
// passes is asked about each refusal: it is passed over where it returns true, as on a mount that only observes.
func (all Policies) Admit(m Mutation, h *Held, passes func(error) bool) (*Admitted, error) {
	if len(all) == 0 {
		return nil, nil
	}
	a := pool.Get().(*Admitted)
	a.by, a.of = all, m
	if err := a.judge(h, passes); err != nil {
		a.Drop()
		return nil, err
	}
	return a, nil
}

func (a *Admitted) judge(h *Held, passes func(error) bool) error {
	stops := func(err error) bool { return err != nil && (errors.Is(err, ErrAgain) || !passes(err)) }
	for _, p := range a.by {
		if err := p.Plan(&a.of, &a.plan); stops(err) {
			return err
		}
	}
	slices.SortStableFunc(a.plan.locks, func(x, y held) int { return int(x.rank) - int(y.rank) })
	for _, l := range a.plan.locks {
		h.Take(l.rank, l.lock, l.alone)
	}
	for _, word := range a.plan.words {
		if err := word(); stops(err) {
			return err
		}
	}
	return nil
}

// Made notes which inode the change has made.
func (a *Admitted) Made(k tree.Key) {
	if a != nil {
		a.of.Made = k
	}
}

// Done says that the change was made.
func (a *Admitted) Done() {
	if a == nil {
		return
	}
	for _, p := range a.by {
		p.Done(&a.of)
	}
}

// After says that the change was made, and that nothing is held any more.
func (a *Admitted) After() {
	for _, p := range a.by {
		p.After(&a.of)
	}
}

// Drop ends its use.
func (a *Admitted) Drop() {
	if a == nil {
		return
	}
	clear(a.plan.words)
	*a = Admitted{plan: Plan{a.plan.locks[:0], a.plan.words[:0]}}
	pool.Put(a)
}
