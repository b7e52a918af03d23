package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Repair is one thing that was wrong with a worktree's files, and what was done about it.
type Repair struct {
	File    string
	Problem string
	Done    string // "" if nothing was done
	Kept    string // where the old file is now, "" if it stays where it was
	Why     string // why nothing was done
}

// repairWait bounds the wait for the gate. A holder keeps it for as long as it has the lease: for one there is no waiting.
const repairWait = 2 * time.Second

// patience is how long Repair waits for the gate.
func (s *Store) patience(c Clock, p Policy) time.Duration {
	if h, err := s.Head(); err == nil && Judge(c.Wall(), h, p).State == Held {
		return 0
	}
	return repairWait
}

// leftoverAge is how old a temporary record must be to be one that nobody will finish; being born takes milliseconds.
const leftoverAge = time.Minute

// Repair puts right what is provably safe, under the gate and with every old file kept. Safe is: a view that cannot be read beside a
// claim that can, for the claim is the authority; temporary names that nobody will finish, as far as that is proven by what is in
// them; and, where the gate proves that no
// daemon of any host writes (tier A), a claim that cannot be read and was not written for as long as a lease, skew and grace last:
// then a claim that is released follows it, so the token goes on. force does the same without the proof, and ends a record from
// the future; the caller has then made sure that nobody writes. The error is about the directory or the gate.
func (s *Store) Repair(ctx context.Context, c Clock, p Policy, force bool) ([]Repair, error) {
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
	policy Policy
	force  bool
	done   []Repair
}

func (m *repairer) add(x Repair) { m.done = append(m.done, x) }

// claim lets a released claim follow a head that says nothing or lies in the future.
func (m *repairer) claim() error {
	s := m.store
	t, err := s.highest()
	if err != nil || t == 0 || t >= mostToken {
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

// judge says what is wrong with the head claim, and why repairing that is not provably safe ("" if it is).
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
	case quiet < m.policy.silence():
		return problem, fmt.Sprintf("it was written %v ago; its holder may still count on it for %v", quiet.Round(time.Second),
			(m.policy.silence() - quiet).Round(time.Second))
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

// view moves a view aside that cannot be read. Without any claim its token is lost with it, so that wants force.
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
	if x.Kept, err = s.moveAside(s.viewName(), s.viewName(), newNonce()); err != nil {
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

// beyond moves claims aside whose numbers no token has, or after which none could follow. Only a person knows that nobody holds.
func (m *repairer) beyond() error {
	names, err := m.store.claimsAbove(mostToken - 1)
	if err != nil {
		return err
	}
	for _, name := range names {
		x := Repair{File: m.store.display(name), Problem: fmt.Sprintf("its number is not below %d, so no token can follow it", mostToken)}
		if !m.force {
			x.Why = "only a person knows that nobody holds the worktree; the tokens would then go on from the claim below it"
			m.add(x)
			continue
		}
		if x.Kept, err = m.store.moveAside(name, name, newNonce()); err != nil {
			return err
		}
		x.Done = "moved aside; the tokens go on from the claim below it"
		m.add(x)
	}
	return m.store.dir.sync()
}

// moveAside gives a file a name under which it never counts. as is the name that says what it was.
func (s *Store) moveAside(name, as, nonce string) (kept string, err error) {
	aside := asideName(as, nonce)
	if err := retry(func() error { return unix.Renameat(s.dir.fd, name, s.dir.fd, aside) }); err != nil {
		return "", s.failed("a file cannot be moved aside", name, err)
	}
	return s.display(aside), nil
}
