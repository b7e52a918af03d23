package repair

import (
	"bytes"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// leftovers removes a temporary name if it is proven that it never counted and that its maker is gone.
func (m *repairer) leftovers() error {
	names, err := m.files.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if n := record.ParseName(name); n.Kind == record.KindTmp && n.ID == m.id {
			if err := m.leftover(name, n.Nonce); err != nil {
				return err
			}
		}
	}
	return m.files.Sync()
}

func (m *repairer) leftover(name, nonce string) error {
	st, err := m.files.Stat(name)
	if err != nil {
		return nil //nolint:nilerr // it is gone, so it is left of nothing
	}
	if m.now.Sub(time.Unix(st.Ctim.Sec, st.Ctim.Nsec)) < leftoverAge {
		return nil
	}
	x := Fault{File: m.files.Path(name), Problem: "it is left of a command that was interrupted"}
	what, why := m.leftoverOf(name, nonce)
	if what == "" && st.Mode&unix.S_IFMT != unix.S_IFREG {
		x.Why = why
		m.add(x)
		return nil
	}
	if what == "" { // another's view, which a release had renamed and did not put back
		kept, err := m.files.MoveAside(name, record.ViewFile(m.id), nonce)
		if err != nil {
			return err
		}
		x.Kept, x.Done = kept, "moved aside: "+why
		m.add(x)
		return nil
	}
	if err := m.files.Remove(name); err != nil {
		return err
	}
	x.Done = "removed: " + what
	m.add(x)
	return nil
}

// leftoverOf says what a temporary name was for, if that is proven. why says why it is not. A record that is being born has its own
// nonce in its name, and no other name. A record that was linked, and a view that was to be moved, has its own name, too.
func (m *repairer) leftoverOf(name, nonce string) (what, why string) {
	b, st, err := m.files.Read(name)
	if err != nil {
		return "", err.Error()
	}
	alone := st.Nlink == 1
	if len(bytes.Trim(b, "\x00 \n")) == 0 && alone {
		return "nothing was written into it", ""
	}
	if m.files.Is(record.ViewFile(m.id), st) {
		return "it is one more name of the view", ""
	}
	r, err := record.Parse(b, m.id)
	if err != nil {
		if alone && bytes.Contains(b, []byte(`"holder_nonce":"`+nonce+`"`)) {
			return "it is a record that was not written to its end, and never counted", ""
		}
		return "", "it is no record that was born under this name, and cannot be read"
	}
	if m.files.Is(record.ClaimFile(m.id, r.FencingToken), st) {
		return "it is one more name of a claim", ""
	}
	if m.wasSwept(r) {
		return "it is one more name of a claim that was swept", ""
	}
	if alone && r.HolderNonce == nonce {
		return "it is a record that never became a claim", ""
	}
	return "", "it is no record that was born under this name"
}

// wasSwept is whether the record's claim was swept (rule 15), or would be.
func (m *repairer) wasSwept(r *record.Record) bool {
	_, err := m.files.Stat(record.ClaimFile(m.id, r.FencingToken))
	top, topErr := m.files.Highest()
	return r.Released && errors.Is(err, os.ErrNotExist) && topErr == nil && r.FencingToken+lease.ClaimsKept <= top
}
