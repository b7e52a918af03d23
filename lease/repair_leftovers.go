package lease

import (
	"bytes"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// leftovers removes a temporary name if it is proven that it never counted and that its maker is gone.
func (m *repairer) leftovers() error {
	s := m.store
	names, err := s.dir.names()
	if err != nil {
		return s.failed("the lock directory cannot be listed", "", err)
	}
	for _, name := range names {
		if n := record.ParseName(name); n.Kind == record.KindTmp && n.ID == s.id {
			if err := m.leftover(name, n.Nonce); err != nil {
				return err
			}
		}
	}
	return s.dir.sync()
}

// statName is stat of a name. ok is false if it is not there.
func (s *Store) statName(name string) (st unix.Stat_t, ok bool) {
	ok = unix.Fstatat(s.dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	return st, ok
}

func (m *repairer) leftover(name, nonce string) error {
	s := m.store
	st, ok := s.statName(name)
	if !ok || m.now.Sub(time.Unix(st.Ctim.Sec, st.Ctim.Nsec)) < leftoverAge {
		return nil
	}
	x := Repair{File: s.display(name), Problem: "it is left of a command that was interrupted"}
	what, why := s.leftoverOf(name, nonce)
	if what == "" && st.Mode&unix.S_IFMT != unix.S_IFREG {
		x.Why = why
		m.add(x)
		return nil
	}
	if what == "" { // another's view, which a release had renamed and did not put back
		kept, err := s.moveAside(name, s.viewName(), nonce)
		if err != nil {
			return err
		}
		x.Kept, x.Done = kept, "moved aside: "+why
		m.add(x)
		return nil
	}
	if err := unix.Unlinkat(s.dir.fd, name, 0); err != nil {
		return s.failed("a leftover cannot be removed", name, err)
	}
	x.Done = "removed: " + what
	m.add(x)
	return nil
}

// leftoverOf says what a temporary name was for, if that is proven. why says why it is not. A record that is being born has its own
// nonce in its name, and no other name. A record that was linked, and a view that was to be moved, has its own name, too.
func (s *Store) leftoverOf(name, nonce string) (what, why string) {
	b, st, err := s.readFile(name)
	if err != nil {
		return "", err.Error()
	}
	alone := st.Nlink == 1
	if len(bytes.Trim(b, "\x00 \n")) == 0 && alone {
		return "nothing was written into it", ""
	}
	if view, err := s.lookup(s.viewName()); err == nil && view == idOf(st) {
		return "it is one more name of the view", ""
	}
	r, err := record.Parse(b, s.id)
	if err != nil {
		if alone && bytes.Contains(b, []byte(`"holder_nonce":"`+nonce+`"`)) {
			return "it is a record that was not written to its end, and never counted", ""
		}
		return "", "it is no record that was born under this name, and cannot be read"
	}
	if claim, err := s.lookup(s.claimName(r.FencingToken)); err == nil && claim == idOf(st) {
		return "it is one more name of a claim", ""
	}
	if s.wasSwept(r) {
		return "it is one more name of a claim that was swept", ""
	}
	if alone && r.HolderNonce == nonce {
		return "it is a record that never became a claim", ""
	}
	return "", "it is no record that was born under this name"
}

// wasSwept is whether the record's claim was swept (rule 15), or would be.
func (s *Store) wasSwept(r *record.Record) bool {
	_, err := s.lookup(s.claimName(r.FencingToken))
	top, topErr := s.highest()
	return r.Released && errors.Is(err, os.ErrNotExist) && topErr == nil && r.FencingToken+ClaimsKept <= top
}
