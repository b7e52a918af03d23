package record

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

// Kind is the kind of a file in a lock directory, by its name alone.
type Kind uint8

// The kinds.
const (
	KindOther Kind = iota // no file of ours
	KindView
	KindGate
	KindTurn
	KindClaim
	KindTaint
	KindTmp
	KindAside
)

// Name is a name, parsed.
type Name struct {
	Kind  Kind
	ID    WorktreeID
	Token Token  // of a claim or a taint
	Nonce string // of a taint, a temporary name, or a file that was moved aside
}

// nonceDigits is the length of a nonce.
const nonceDigits = 32

// ViewFile is the name of the file that the spec names, the view.
func ViewFile(id WorktreeID) string { return string(id) + ".lock" }

// ClaimFile is the name of the claim of a token.
func ClaimFile(id WorktreeID, t Token) string { return string(id) + ".claim." + t.Digits() }

// TmpFile is the name of a record that is being born, or of a view that is being moved.
func TmpFile(id WorktreeID, nonce string) string { return string(id) + ".lock.tmp." + nonce }

// GateFile is the name of the file whose lock is a worktree's gate.
func GateFile(id WorktreeID) string { return string(id) + ".gate" }

// TurnFile is the name of the file whose lock is the turn of who takes the lease.
func TurnFile(id WorktreeID) string { return string(id) + ".turn" }

// TaintFile is the name of a late write (rule 10).
func TaintFile(id WorktreeID, t Token, nonce string) string {
	return string(id) + ".taint." + t.Digits() + "." + nonce
}

// AsideFile is the new name of a view or a claim that is moved aside.
func AsideFile(name, nonce string) string { return name + ".aside." + nonce }

// ParseName parses a name of a lock directory. No other code does.
func ParseName(name string) Name {
	n := readName(name)
	if n.Kind == KindOther || badID(string(n.ID)) != "" {
		return Name{}
	}
	return n
}

// IsLeftover reports whether a name is a temporary one of a worktree's records.
func IsLeftover(name string) bool { return ParseName(name).Kind == KindTmp }

// IsTaint reports whether a name is that of a late write (rule 10).
func IsTaint(name string) bool { return ParseName(name).Kind == KindTaint }

func readName(name string) Name {
	rest, last := cutLast(name)
	switch {
	case last == "lock":
		return Name{Kind: KindView, ID: WorktreeID(rest)}
	case last == "gate":
		return Name{Kind: KindGate, ID: WorktreeID(rest)}
	case last == "turn":
		return Name{Kind: KindTurn, ID: WorktreeID(rest)}
	case isNonce(last):
		return readNonceName(rest, last)
	}
	if id, t, ok := cutToken(name, ".claim."); ok {
		return Name{Kind: KindClaim, ID: id, Token: t}
	}
	return Name{}
}

// readNonceName parses a name that ends in a nonce.
func readNonceName(rest, nonce string) Name {
	if id, ok := strings.CutSuffix(rest, ".lock.tmp"); ok {
		return Name{Kind: KindTmp, ID: WorktreeID(id), Nonce: nonce}
	}
	if id, t, ok := cutToken(rest, ".taint."); ok {
		return Name{Kind: KindTaint, ID: id, Token: t, Nonce: nonce}
	}
	what, ok := strings.CutSuffix(rest, ".aside")
	if !ok {
		return Name{}
	}
	if id, ok := strings.CutSuffix(what, ".lock"); ok {
		return Name{Kind: KindAside, ID: WorktreeID(id), Nonce: nonce}
	}
	if id, t, ok := cutToken(what, ".claim."); ok {
		return Name{Kind: KindAside, ID: id, Token: t, Nonce: nonce}
	}
	return Name{}
}

// cutToken cuts a token and the word before it off the end.
func cutToken(s, word string) (id WorktreeID, t Token, ok bool) {
	if len(s) < len(word)+tokenDigits {
		return "", 0, false
	}
	rest, digits := s[:len(s)-tokenDigits], s[len(s)-tokenDigits:]
	if t, ok = ParseDigits(digits); !ok {
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
