package record

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

const someNonce = "0123456789abcdef0123456789abcdef"

// namesOf are all names of a worktree's files, and how each must be parsed.
func namesOf(id WorktreeID, t Token, nonce string) map[string]Name {
	return map[string]Name{
		ViewFile(id):                       {Kind: KindView, ID: id},
		ClaimFile(id, t):                   {Kind: KindClaim, ID: id, Token: t},
		GateFile(id):                       {Kind: KindGate, ID: id},
		TurnFile(id):                       {Kind: KindTurn, ID: id},
		TmpFile(id, nonce):                 {Kind: KindTmp, ID: id, Nonce: nonce},
		TaintFile(id, t, nonce):            {Kind: KindTaint, ID: id, Token: t, Nonce: nonce},
		AsideFile(ViewFile(id), nonce):     {Kind: KindAside, ID: id, Nonce: nonce},
		AsideFile(ClaimFile(id, t), nonce): {Kind: KindAside, ID: id, Token: t, Nonce: nonce},
	}
}

// idPieces are the pieces of a hostile id: beginnings and ends of our own names.
var idPieces = []string{"a", "main", "x", "0", "f", ".", "-", "_", "..", ".lock", ".gate", ".turn", ".claim", ".taint", ".tmp", ".aside", ".lock.tmp.evil",
	".claim.00000000000000000001", ".00000000000000000001", "." + someNonce, ".lock.tmp." + someNonce, ".lock.aside." + someNonce,
	".taint.00000000000000000001." + someNonce, ".doctor-1", ".x", "audit.jsonl", "audit", ".jsonl", ".head"}

func anyID(rt *rapid.T, label string) WorktreeID {
	for range 100 {
		parts := rapid.SliceOfN(rapid.SampledFrom(idPieces), 1, 4).Draw(rt, label)
		if id, err := ParseWorktreeID(strings.Join(parts, "")); err == nil {
			return id
		}
	}
	return "main"
}

// Two worktrees never have a name in common, and each name is parsed as what it is.
func TestNoTwoWorktreesShareAName(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := anyID(rt, "a"), anyID(rt, "b")
		tok := Token(rapid.Uint64Range(1, uint64(MostToken)).Draw(rt, "token"))
		first := namesOf(a, tok, someNonce)
		if len(first) != 8 {
			rt.Fatalf("worktree %q has two files of one name", a)
		}
		for name, want := range first {
			if got := ParseName(name); got != want {
				rt.Fatalf("%q is read as %+v, and is %+v", name, got, want)
			}
			if len(name) > unix.NAME_MAX {
				rt.Fatalf("%q is too long", name)
			}
		}
		if a == b {
			return
		}
		for name := range namesOf(b, tok, someNonce) {
			if _, both := first[name]; both {
				rt.Fatalf("%q is a file of %q and of %q", name, a, b)
			}
		}
	})
}

func TestNamesThatAreNoRecordsAreNotParsed(t *testing.T) {
	for _, name := range []string{"", ".", "lock", ".lock", "gate", "audit.jsonl", "audit.head", ".doctor-12", ".doctor-12.x", "main.lock.tmp.", "main.lock.tmp.x",
		"main.lock.tmp.evil", "main.claim.1", "main.claim.0000000000000000000x", "main.taint.1", "main.taint.00000000000000000001",
		"..lock", "...lock", "main.lock.tmp." + strings.ToUpper(someNonce), "a/b.lock", "é.lock", strings.Repeat("x", 129) + ".lock"} {
		require.Zero(t, ParseName(name), name)
	}
}

func FuzzParseName(f *testing.F) {
	for name := range namesOf("main", 1, someNonce) {
		f.Add(name)
	}
	f.Add("main.claim.99999999999999999999")
	f.Fuzz(func(t *testing.T, name string) {
		n := ParseName(name)
		if n.Kind == KindOther || n.Token == TooHigh {
			return
		}
		made, ok := namesOf(n.ID, max(n.Token, 1), n.Nonce)[name]
		if n.Token > 0 || n.Kind != KindClaim && n.Kind != KindTaint {
			require.True(t, ok || n.Token == 0, name)
			require.True(t, !ok || made == n, name)
		}
	})
}
