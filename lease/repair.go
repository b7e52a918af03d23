package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Repair is one fault of a worktree's files, and what was done about it.
type Repair struct {
	File    string
	Problem string
	Done    string // "" if nothing was done
	Kept    string // where the old file is now, "" if it stays where it was
	Why     string // why nothing was done
}

// repairWait bounds the wait for the gate. It is not for a holder, who has the gate as long as the lease lasts.
const repairWait = 2 * time.Second

// patience is how long Repair waits for the gate.
func (s *Store) patience(c Clock, p record.Policy) time.Duration {
	if h, err := s.Head(); err == nil && Judge(c.Wall(), h, p).State == Held {
		return 0
	}
	return repairWait
}

// leftoverAge is how old a temporary record must be to count as a leftover. To make a record takes milliseconds.
const leftoverAge = time.Minute

// Repair repairs faults if that is provably safe. It has the gate, and keeps every old file. These repairs are safe:
//
//   - A view cannot be read, and a claim can: the claim is the authority.
//   - A temporary name is a leftover, and its content proves that.
//   - A claim cannot be read, nobody wrote it for one silence, and the gate proves that no daemon of any host writes (tier A). A
//     released claim then follows it, so the token goes on.
//
// force repairs without these proofs, and ends a record from the future. Its caller has made sure that nobody writes. The error is
// about the directory or the gate.
func (s *Store) Repair(ctx context.Context, c Clock, p record.Policy, force bool) ([]Repair, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	g := newGateLock(s)
	defer g.close()
	if err := g.exclusive(ctx, s.patience(c, p)); err != nil {
		return nil, err
	}
	defer g.unlock()
	m := repairer{store: s, now: c.Wall(), policy: p, force: force}
	for _, step := range []func() error{m.beyond, m.claim, m.view, m.leftovers} {
		if err := step(); err != nil {
			return m.done, err
		}
	}
	return m.done, nil
}

type repairer struct {
	store  *Store
	now    time.Time
	policy record.Policy
	force  bool
	done   []Repair
}

func (m *repairer) add(x Repair) { m.done = append(m.done, x) }

// claim makes a released claim after a head that cannot be read or lies in the future.
func (m *repairer) claim() error {
	s := m.store
	t, err := s.highest()
	if err != nil || t == 0 || t >= record.MostToken {
		return err
	}
	h := s.readRecordFile(s.claimName(t))
	h.Token = t
	problem, safe := m.judge(h)
	switch {
	case problem == "":
		return nil
	case safe != "" && !m.force:
		m.add(Repair{File: s.display(s.claimName(t)), Problem: problem, Why: safe})
		return nil
	}
	if err := m.follow(t); err != nil {
		return err
	}
	m.add(Repair{File: s.display(s.claimName(t)), Problem: problem,
		Done: fmt.Sprintf("token %d follows, released: the worktree is free", t+1)})
	return nil
}

// judge says what is wrong with the head, and why a repair is not provably safe ("" if it is).
func (m *repairer) judge(h Head) (problem, unsafe string) {
	s := m.store
	if h.Unreadable == nil && h.Record.FencingToken != h.Token {
		h.Unreadable = fmt.Errorf("it carries token %d", h.Record.FencingToken)
	}
	if h.Unreadable == nil {
		if j := Judge(m.now, h, m.policy); j.State == Skewed {
			return j.Reason, "only a person knows which clock is right, and that its holder has ended"
		}
		return "", ""
	}
	problem = h.Unreadable.Error()
	var st unix.Stat_t
	if err := unix.Fstatat(s.dir.fd, s.claimName(h.Token), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return problem, err.Error()
	}
	quiet := m.now.Sub(time.Unix(st.Mtim.Sec, st.Mtim.Nsec))
	switch {
	case !s.dir.tier.gateProvesEnd():
		return problem, "other hosts may write here, and the gate does not prove that they stopped"
	case quiet < m.policy.Silence():
		return problem, fmt.Sprintf("it was written %v ago; its holder may still count on it for %v", quiet.Round(time.Second),
			(m.policy.Silence() - quiet).Round(time.Second))
	}
	return problem, ""
}

// follow claims token t+1, released from the start.
func (m *repairer) follow(t Token) error {
	s := m.store
	rec := s.newRecord(m.policy, Holder{Host: "jvsfs-doctor", Purpose: "repair"}, Head{Token: t}, instant{wall: m.now})
	rec.Released, rec.LeaseExpiresAt = true, m.now.UTC()
	c, err := s.bear(rec)
	if err != nil {
		return err
	}
	defer c.discard()
	won, err := c.link()
	if err == nil && !won {
		err = s.failed("somebody claimed meanwhile", c.name(), nil)
	}
	if err != nil {
		return err
	}
	return s.dir.sync()
}

// view moves a view aside that cannot be read. If there is no claim, its token would be lost, so that needs force.
func (m *repairer) view() error {
	s := m.store
	v := s.readView()
	if v.Unreadable == nil || errors.Is(v.Unreadable, os.ErrNotExist) {
		return nil
	}
	x := Repair{File: v.File, Problem: v.Unreadable.Error()}
	head, err := s.highest()
	if err != nil {
		return err
	}
	if head == 0 && !m.force {
		x.Why = "there is no claim beside it, so its holder and token are known to nobody"
		m.add(x)
		return nil
	}
	if x.Kept, err = s.moveAside(s.viewName(), s.viewName(), record.NewNonce()); err != nil {
		return err
	}
	x.Done = "moved aside"
	if h := s.readRecordFile(s.claimName(head)); h.Record != nil && !h.Record.Released {
		if err := s.putView(head); err != nil {
			return err
		}
		x.Done += ", and made anew from the claim"
	}
	m.add(x)
	return s.dir.sync()
}

// beyond moves claims aside whose numbers are too high for a next token. Only a person knows that nobody holds.
func (m *repairer) beyond() error {
	names, err := m.store.claimsAbove(record.MostToken - 1)
	if err != nil {
		return err
	}
	for _, name := range names {
		x := Repair{File: m.store.display(name), Problem: fmt.Sprintf("its number is not below %d, so no token can follow it", record.MostToken)}
		if !m.force {
			x.Why = "only a person knows that nobody holds the worktree; the tokens would then go on from the claim below it"
			m.add(x)
			continue
		}
		if x.Kept, err = m.store.moveAside(name, name, record.NewNonce()); err != nil {
			return err
		}
		x.Done = "moved aside; the tokens go on from the claim below it"
		m.add(x)
	}
	return m.store.dir.sync()
}

// moveAside renames a file so that it never counts again. The new name begins with as, which says what it was.
func (s *Store) moveAside(name, as, nonce string) (kept string, err error) {
	aside := record.AsideFile(as, nonce)
	if err := retry(func() error { return unix.Renameat(s.dir.fd, name, s.dir.fd, aside) }); err != nil {
		return "", s.failed("a file cannot be moved aside", name, err)
	}
	return s.display(aside), nil
}
