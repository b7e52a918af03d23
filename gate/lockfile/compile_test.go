package lockfile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func compiled(t *testing.T, specs ...Spec) *Rules {
	t.Helper()
	r, mistakes := Compile(specs)
	require.Empty(t, mistakes)
	return r
}

// agency is a rule as many are.
var agency = Spec{
	Name: "agency", Lock: "repos/{repo}/.lock", TakenBy: ByCreate, Guards: []string{"repos/{repo}/**"},
	Except: []string{"repos/{repo}/.lock", "repos/*/runs/*/events.jsonl"}, Without: Allow, Break: Break{Gone: true, After: 2 * time.Hour},
}

func TestEveryMistakeInARuleIsTold(t *testing.T) {
	change := func(with func(*Spec)) Spec {
		s := agency
		with(&s)
		return s
	}
	for says, s := range map[string]Spec{
		`name: want a name`: change(func(s *Spec) { s.Name = "a b" }),
		`lock: "repos/*/.lock": want captures instead of wildcards`:                change(func(s *Spec) { s.Lock, s.Guards = "repos/*/.lock", []string{"repos/x"} }),
		`lock: "../x": want no '..'`:                                               change(func(s *Spec) { s.Lock, s.Guards = "../x", nil }),
		`lock: want taken_by beside it`:                                            change(func(s *Spec) { s.TakenBy = "" }),
		`taken_by: want create or flock or record or lease, not "magic"`:           change(func(s *Spec) { s.TakenBy = "magic" }),
		`holder: want tree or parent or session or user, not "me"`:                 change(func(s *Spec) { s.Holder = "me" }),
		`without: want deny or create or allow, not "x"`:                           change(func(s *Spec) { s.Without = "x" }),
		`on_gone: want keep or remove, not "x"`:                                    change(func(s *Spec) { s.OnGone = "x" }),
		`guards[0]: "repos/**": {repo} of the lock is missing`:                     change(func(s *Spec) { s.Guards = []string{"repos/**"} }),
		`guards[0]: "repos/{repo}/{x}": {x} is not in the lock`:                    change(func(s *Spec) { s.Guards = []string{"repos/{repo}/{x}"} }),
		`guards[0]: "repos/{repo}/**" guards the lock "repos/{repo}/.lock" itself`: change(func(s *Spec) { s.Except = nil }),
		`guards[1]: "**": it matches everything`:                                   change(func(s *Spec) { s.Guards = append(s.Guards, "**") }),
		`break: a lock that is taken by flock ends with its holder`:                change(func(s *Spec) { s.TakenBy = ByFlock }),
		`break: after: want no negative duration`:                                  change(func(s *Spec) { s.Break.After = -1 }),
		`record: want nonce, token and expires`:                                    change(func(s *Spec) { s.TakenBy, s.Record = ByRecord, RecordOf{Nonce: "n"} }),
		`record: it needs taken_by: record`:                                        change(func(s *Spec) { s.Record.Token = "t" }),
		`on_gone: a record outlives its taker`:                                     change(func(s *Spec) { s.TakenBy, s.Record, s.OnGone = ByRecord, ofJVS, Remove }),
		`guards: guards without lock says nothing`:                                 {Name: "x", Guards: []string{"x"}, Once: []string{"y"}},
		`want a lock, or at least one of once, keep and append`:                    {Name: "x"},
		`once[0]: ".jvs/locks/x": .jvs/locks is jvsfs' own`:                        {Name: "x", Once: []string{".jvs/locks/x"}},
		`keep: want at most 32 patterns`:                                           {Name: "x", Keep: make([]string, 33)},
	} {
		_, mistakes := Compile([]Spec{s})
		require.NotEmpty(t, mistakes, says)
		var all []string
		for _, m := range mistakes {
			key := m.Key
			if m.Item >= 0 {
				key += fmt.Sprintf("[%d]", m.Item)
			}
			if key != "" {
				key += ": "
			}
			all = append(all, key+m.Text)
		}
		require.Contains(t, fmt.Sprint(all), says)
	}
	_, mistakes := Compile([]Spec{agency, agency})
	require.Equal(t, []Mistake{{1, KeyName, -1, `rule 1 is called "agency", too`}}, mistakes)
	many := make([]Spec, MaxRules+1)
	for i := range many {
		many[i] = Spec{Name: fmt.Sprint("r", i), Keep: []string{"x"}}
	}
	_, mistakes = Compile(many)
	require.Len(t, mistakes, 1)
	require.Contains(t, mistakes[0].Text, "at most 64 rules")
}

func TestABadNameOfARuleIsAMistake(t *testing.T) {
	for name, right := range map[string]bool{
		"a": true, "9.a-B": true, strings.Repeat("a", 64): true,
		"": false, ".a": false, "-a": false, "a_b": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		_, mistakes := Compile([]Spec{{Name: name, Keep: []string{"x"}}})
		require.Equal(t, right, len(mistakes) == 0, "%q %v", name, mistakes)
	}
}

// All mistakes are found at once.
func TestAllMistakesOfTheRulesAreFoundAtOnce(t *testing.T) {
	_, mistakes := Compile([]Spec{{Name: "-", Lock: "/a", TakenBy: "x", Guards: []string{"b//c", "d/.."}}, {Name: "y"}})
	require.Len(t, mistakes, 6)
}

func TestAPathIsFoundByTheRulesThatGuardOrLockIt(t *testing.T) {
	r := compiled(t, agency, Spec{Name: "events", Once: []string{"ledger/*.json"}, Keep: []string{"ledger/*.json"}, Append: []string{"**/*.log"}},
		Spec{Name: "af", Lock: "{p...}/ledger/ledger.lock", TakenBy: ByCreate, Guards: []string{"{p...}/ledger/*.json"}})
	ids := func(all []Instance) (ids []string) {
		for _, i := range all {
			ids = append(ids, i.ID()+" "+i.Path)
		}
		return ids
	}
	require.Equal(t, []string{"agency{repo=a} repos/a/.lock"}, ids(r.At("repos/a/.lock").Locks))
	require.Empty(t, r.At("repos/a/.lock").Guards)
	require.Equal(t, []string{"agency{repo=a} repos/a/.lock"}, ids(r.At("repos/a/meta.json").Guards))
	require.Equal(t, []string{"agency{repo=a} repos/a/.lock"}, ids(r.At("repos/a/b/c").Guards))
	require.True(t, r.At("repos/a/runs/1/events.jsonl").Free())
	require.True(t, r.At("repos/a").Free())
	require.True(t, r.At("other").Free())
	require.Equal(t, []string{"agency{repo=a} repos/a/.lock"}, ids(r.Below("repos/a")), "the name of the directory concerns all below")
	require.Empty(t, r.Below("repos"))
	require.Empty(t, r.Below("repos/a/.lock"), "a lock that is a directory is judged as a lock alone")
	p := r.At("ledger/1.json")
	require.Len(t, p.Once, 1)
	require.Len(t, p.Keep, 1)
	require.Equal(t, []string{"af{p=} ledger/ledger.lock"}, ids(p.Guards))
	require.Equal(t, []string{"af{p=x/y} x/y/ledger/ledger.lock"}, ids(r.At("x/y/ledger/1.json").Guards))
	require.Len(t, r.At("x/y.log").Append, 1)
	require.True(t, r.At(".jvs/locks/a.log").Free(), "the records are nobody's")
	require.True(t, (*Rules)(nil).At("a").Free())
	require.Zero(t, testing.AllocsPerRun(100, func() { r.At("some/path/of/no/rule.txt") }))
}

// A name has one lock, and the lock of a guarded name guards it by the same captures.
func TestAGuardedNameHasItsLock(t *testing.T) {
	r := compiled(t, Spec{Name: "git", Lock: "{r...}/.git/{f...}.lock", TakenBy: ByCreate, Guards: []string{"{r...}/.git/{f...}"},
		Except: []string{"**/.git/**/*.lock", "**/.git/*.lock"}, Without: Allow})
	for path, lock := range map[string]string{
		".git/index": ".git/index.lock", "a/.git/refs/heads/x": "a/.git/refs/heads/x.lock", "a/.git/b/.git/c": "a/.git/b/.git/c.lock",
	} {
		guards := r.At(path).Guards
		require.Len(t, guards, 1, path)
		require.Equal(t, lock, guards[0].Path)
		require.Equal(t, guards[0].ID(), r.At(lock).Locks[0].ID())
	}
}
