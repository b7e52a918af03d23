package repair

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Fault is one fault of a worktree's files, and what was done about it.
type Fault struct {
	File    string
	Problem string
	Done    string // "" if nothing was done
	Kept    string // where the old file is now, "" if it stays where it was
	Why     string // why nothing was done
}

// leftoverAge is how old a temporary record must be to count as a leftover. To make a record takes milliseconds.
const leftoverAge = time.Minute

// Worktree repairs faults of the files of s if that is provably safe. It has the gate, and keeps every old file. These repairs are safe:
//
//   - A view cannot be read, and a claim can: the claim is the authority.
//   - A temporary name is a leftover, and its content proves that.
//   - A claim cannot be read, nobody wrote it for one silence, and the gate proves that no daemon of any host writes (tier A). A
//     released claim then follows it, so the token goes on.
//
// force repairs without these proofs, and ends a record from the future. Its caller has made sure that nobody writes. The error is
// about the directory or the gate.
func Worktree(ctx context.Context, s *lease.Store, c lease.Clock, p record.Policy, force bool) ([]Fault, error) {
	files, err := s.UnderGate(ctx, c, p)
	if err != nil {
		return nil, err
	}
	defer files.End()
	m := repairer{files: files, id: s.Worktree(), now: c.Wall(), policy: p, force: force}
	for _, step := range []func() error{m.beyond, m.claim, m.view, m.leftovers} {
		if err := step(); err != nil {
			return m.done, err
		}
	}
	return m.done, nil
}

type repairer struct {
	files  *lease.UnderGate
	id     record.WorktreeID
	now    time.Time
	policy record.Policy
	force  bool
	done   []Fault
}

func (m *repairer) add(x Fault) { m.done = append(m.done, x) }

// claim makes a released claim after a head that cannot be read or lies in the future.
func (m *repairer) claim() error {
	t, err := m.files.Highest()
	if err != nil || t == 0 || t >= record.MostToken {
		return err
	}
	h := m.files.Claim(t)
	problem, safe := m.judge(h)
	switch {
	case problem == "":
		return nil
	case safe != "" && !m.force:
		m.add(Fault{File: m.files.Path(record.ClaimFile(m.id, t)), Problem: problem, Why: safe})
		return nil
	}
	if err := m.files.Follow(t, m.policy, m.now); err != nil {
		return err
	}
	m.add(Fault{File: m.files.Path(record.ClaimFile(m.id, t)), Problem: problem,
		Done: fmt.Sprintf("token %d follows, released: the worktree is free", t+1)})
	return nil
}

// judge says what is wrong with the head, and why a repair is not provably safe ("" if it is).
func (m *repairer) judge(h lease.Head) (problem, unsafe string) {
	if h.Unreadable == nil && h.Record.FencingToken != h.Token {
		h.Unreadable = fmt.Errorf("it carries token %d", h.Record.FencingToken)
	}
	if h.Unreadable == nil {
		if j := lease.Judge(m.now, h, m.policy); j.State == lease.Skewed {
			return j.Reason, "only a person knows which clock is right, and that its holder has ended"
		}
		return "", ""
	}
	problem = h.Unreadable.Error()
	st, err := m.files.Stat(record.ClaimFile(m.id, h.Token))
	if err != nil {
		return problem, err.Error()
	}
	quiet := m.now.Sub(time.Unix(st.Mtim.Sec, st.Mtim.Nsec))
	switch {
	case !m.files.ProvesEnd():
		return problem, "other hosts may write here, and the gate does not prove that they stopped"
	case quiet < m.policy.Silence():
		return problem, fmt.Sprintf("it was written %v ago; its holder may still count on it for %v", quiet.Round(time.Second),
			(m.policy.Silence() - quiet).Round(time.Second))
	}
	return problem, ""
}

// view moves a view aside that cannot be read. If there is no claim, its token would be lost, so that needs force.
func (m *repairer) view() error {
	v := m.files.View()
	if v.Unreadable == nil || errors.Is(v.Unreadable, os.ErrNotExist) {
		return nil
	}
	x := Fault{File: v.File, Problem: v.Unreadable.Error()}
	head, err := m.files.Highest()
	if err != nil {
		return err
	}
	if head == 0 && !m.force {
		x.Why = "there is no claim beside it, so its holder and token are known to nobody"
		m.add(x)
		return nil
	}
	if x.Kept, err = m.files.MoveAside(record.ViewFile(m.id), record.ViewFile(m.id), record.NewNonce()); err != nil {
		return err
	}
	x.Done = "moved aside"
	if h := m.files.Claim(head); h.Record != nil && !h.Record.Released {
		if err := m.files.ShowClaim(head); err != nil {
			return err
		}
		x.Done += ", and made anew from the claim"
	}
	m.add(x)
	return m.files.Sync()
}

// beyond moves claims aside whose numbers are too high for a next token. Only a person knows that nobody holds.
func (m *repairer) beyond() error {
	names, err := m.files.ClaimsAbove(record.MostToken - 1)
	if err != nil {
		return err
	}
	for _, name := range names {
		x := Fault{File: m.files.Path(name), Problem: fmt.Sprintf("its number is not below %d, so no token can follow it", record.MostToken)}
		if !m.force {
			x.Why = "only a person knows that nobody holds the worktree; the tokens would then go on from the claim below it"
			m.add(x)
			continue
		}
		if x.Kept, err = m.files.MoveAside(name, name, record.NewNonce()); err != nil {
			return err
		}
		x.Done = "moved aside; the tokens go on from the claim below it"
		m.add(x)
	}
	return m.files.Sync()
}
