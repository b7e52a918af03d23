package lease

import "strings"

// The names of a worktree's files begin with its id, and an id may hold dots: "main.lock.tmp.evil" is an id. So a name is read from its
// end. There each kind has a form that is exact to the byte. A name then has one kind and one id, and two ids have no name in common.
//
//	<id>.lock   <id>.gate   <id>.turn
//	<id>.claim.<20 digits>
//	<id>.taint.<20 digits>.<nonce>
//	<id>.lock.tmp.<nonce>
//	<id>.lock.aside.<nonce>   <id>.claim.<20 digits>.aside.<nonce>
//
// A nonce is 32 of 0-9 and a-f.

// nameKind is the kind of a file in a lock directory, by its name alone.
type nameKind uint8

const (
	nameOther nameKind = iota // no file of ours
	nameView
	nameGate
	nameTurn
	nameClaim
	nameTaint
	nameTmp
	nameAside
)

// fileName is a name, parsed.
type fileName struct {
	kind  nameKind
	id    WorktreeID
	token Token  // of a claim or a taint
	nonce string // of a taint, a temporary name, or a file that was moved aside
}

// nonceDigits is the length of a nonce.
const nonceDigits = 32

func (s *Store) viewName() string            { return string(s.id) + ".lock" }
func (s *Store) claimName(t Token) string    { return string(s.id) + ".claim." + t.digits() }
func (s *Store) tmpName(nonce string) string { return string(s.id) + ".lock.tmp." + nonce }

// lockNames are the flock files.
func (s *Store) lockNames() []string { return []string{GateFile(s.id), string(s.id) + ".turn"} }

// GateFile is the name of the file whose lock is a worktree's gate.
func GateFile(id WorktreeID) string { return string(id) + ".gate" }

func (s *Store) taintName(t Token, nonce string) string {
	return string(s.id) + ".taint." + t.digits() + "." + nonce
}

// asideName is the new name of a view or a claim that is moved aside.
func asideName(name, nonce string) string { return name + ".aside." + nonce }

// parseName parses a name of a lock directory. No other code does.
func parseName(name string) fileName {
	n := readName(name)
	if n.kind == nameOther || badID(string(n.id)) != "" {
		return fileName{}
	}
	return n
}

// IsLeftover reports whether a name is a temporary one of a worktree's records.
func IsLeftover(name string) bool { return parseName(name).kind == nameTmp }

// IsTaint reports whether a name is that of a late write (rule 10).
func IsTaint(name string) bool { return parseName(name).kind == nameTaint }

func readName(name string) fileName {
	rest, last := cutLast(name)
	switch {
	case last == "lock":
		return fileName{kind: nameView, id: WorktreeID(rest)}
	case last == "gate":
		return fileName{kind: nameGate, id: WorktreeID(rest)}
	case last == "turn":
		return fileName{kind: nameTurn, id: WorktreeID(rest)}
	case isNonce(last):
		return readNonceName(rest, last)
	}
	if id, t, ok := cutToken(name, ".claim."); ok {
		return fileName{kind: nameClaim, id: id, token: t}
	}
	return fileName{}
}

// readNonceName parses a name that ends in a nonce.
func readNonceName(rest, nonce string) fileName {
	if id, ok := strings.CutSuffix(rest, ".lock.tmp"); ok {
		return fileName{kind: nameTmp, id: WorktreeID(id), nonce: nonce}
	}
	if id, t, ok := cutToken(rest, ".taint."); ok {
		return fileName{kind: nameTaint, id: id, token: t, nonce: nonce}
	}
	what, ok := strings.CutSuffix(rest, ".aside")
	if !ok {
		return fileName{}
	}
	if id, ok := strings.CutSuffix(what, ".lock"); ok {
		return fileName{kind: nameAside, id: WorktreeID(id), nonce: nonce}
	}
	if id, t, ok := cutToken(what, ".claim."); ok {
		return fileName{kind: nameAside, id: id, token: t, nonce: nonce}
	}
	return fileName{}
}

// cutToken cuts a token and the word before it off the end.
func cutToken(s, word string) (id WorktreeID, t Token, ok bool) {
	if len(s) < len(word)+tokenDigits {
		return "", 0, false
	}
	rest, digits := s[:len(s)-tokenDigits], s[len(s)-tokenDigits:]
	if t, ok = parseDigits(digits); !ok {
		return "", 0, false
	}
	before, ok := strings.CutSuffix(rest, word)
	return WorktreeID(before), t, ok
}

func cutLast(s string) (rest, last string) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}

func isNonce(s string) bool {
	if len(s) != nonceDigits {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}
