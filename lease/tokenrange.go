package lease

import (
	"fmt"

	"github.com/jvsfs/jvsfs/lease/record"
)

// nextOutOfBounds is the way out of numbers that no token has.
const nextOutOfBounds = "make sure that no writer is left, then run: jvsfs doctor --repair --force PATH, which moves the file aside"

// beyond is a head whose number no token has. Nothing was ever granted under it. But a foreign tool may have made it for a reason, so
// nobody writes until a person has decided.
func (s *Store) beyond(t Token) Head {
	name := s.claimName(t)
	if strange, err := s.claimsAbove(record.MostToken); err == nil && len(strange) > 0 {
		name = strange[0]
	}
	return Head{Token: t, File: s.display(name), Unreadable: &Error{
		Class: ClassRecordUnreadable, Worktree: s.id, File: s.display(name),
		Message: fmt.Sprintf("a claim's name says a token above %d, which is never granted, so nobody can know who holds the worktree", record.MostToken),
		Next:    nextOutOfBounds,
	}}
}

// claimsAbove are the names of claims with a number above t.
func (s *Store) claimsAbove(t Token) ([]string, error) {
	names, err := s.dir.names()
	if err != nil {
		return nil, s.failed("the lock directory cannot be listed", "", err)
	}
	var out []string
	for _, name := range names {
		if n := record.ParseName(name); n.Kind == record.KindClaim && n.ID == s.id && n.Token > t {
			out = append(out, name)
		}
	}
	return out, nil
}

// readView is readRecordFile for the view. A view that is no claim of ours counts as unreadable if its token is too high to go on
// from.
func (s *Store) readView() Head {
	v := s.readRecordFile(s.viewName())
	if v.Record == nil || v.Record.FencingToken <= record.MostForeign || s.isOldClaim(v) {
		return v
	}
	v.Unreadable = s.unreadable(s.viewName(), fmt.Errorf("it carries token %d, and a view that is no claim here may have %d at most", v.Record.FencingToken, record.MostForeign))
	v.Record = nil
	return v
}
