package gate

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

func mustExempt(t testing.TB, git bool, globs ...string) *Exempt {
	t.Helper()
	x, err := NewExempt(globs, git)
	require.NoError(t, err)
	return x
}

func TestExemptPatternsMatchTheNamesTheyMean(t *testing.T) {
	for _, c := range []struct {
		glob    string
		git     bool
		exempt  []string
		guarded []string
	}{
		{glob: "**/node_modules/.cache/**",
			exempt: []string{"node_modules/.cache/x", "a/b/node_modules/.cache/x/y/z", "node_modules/.cache/node_modules/.cache"},
			guarded: []string{"", "node_modules/.cache", "a/node_modules/.cache", "node_modules/x", "node_modules/.cache2/x",
				"a/node_modules/.cache/.git/config", "a/node_modules/.cache/.git", "a/node_modules/.cache/x/.git/hooks/y",
				".git/node_modules/.cache/x", "node_modules/.cache/.GIT/x", "node_modules/.cache/.Jvs", "node_modules/.cache/.jvs/x", ".jvs/node_modules/.cache/x"}},
		{glob: "a/cache/**/**", exempt: []string{"a/cache/x"}, guarded: []string{"a/cache", "a", "b/cache/x", "x/a/cache/y"}},
		{glob: "build", exempt: []string{"build", "build/x/y"}, guarded: []string{"a/build", "build2", "buil"}},
		{glob: "**/*.log", exempt: []string{"x.log", "a/b/x.log", "x.log/y", ".log"}, guarded: []string{"x.logs", "log", ".git/x.log"}},
		{glob: "a/*/c", exempt: []string{"a/b/c", "a/b/c/d"}, guarded: []string{"a/b", "a/c", "a/b/d", "a/.git/c", "a/b/b/c"}},
		{glob: "{a,b}/[0-9]/**", exempt: []string{"a/1/x", "b/2/x/y"}, guarded: []string{"a/1", "c/1/x", "a/x/y"}},
		{glob: ".git/**", guarded: []string{".git", ".git/x"}},
		{glob: ".git/gc/**", git: true, exempt: []string{".git/gc/x"}, guarded: []string{".git", ".git/gc", ".git/x", ".git/gc/.git/x", ".git/gc/.jvs"}},
		{glob: "*/**/x", git: true, exempt: []string{"a/x"}, guarded: []string{".git/x", "a/.git/x"}},
	} {
		x := mustExempt(t, c.git, c.glob)
		for _, name := range c.exempt {
			rule, ok := x.match(name)
			require.True(t, ok, "%s: %q", c.glob, name)
			require.Equal(t, c.glob, rule)
		}
		for _, name := range c.guarded {
			_, ok := x.match(name)
			require.False(t, ok, "%s: %q", c.glob, name)
		}
	}
}

func TestNoExemptRulesAreNil(t *testing.T) {
	x, err := NewExempt(nil, true)
	require.NoError(t, err)
	require.Nil(t, x)
	_, err = NewExempt([]string{"a["}, false)
	require.ErrorContains(t, err, `exempt "a["`)
}

var (
	globParts = rapid.SampledFrom([]string{"a", "b", "**", "*", "?", "*.o", ".git", "{a,b}"})
	nameParts = rapid.SampledFrom([]string{"a", "b", "x.o", ".git", ".jvs", "c"})
)

// Everything below an exempt directory is exempt, except reserved names. A directory that may not
// hold anything exempt does not.
func TestWhatIsBelowAnExemptDirectoryIsExempt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		glob := strings.Join(rapid.SliceOfN(globParts, 1, 4).Draw(t, "glob"), "/")
		x, err := NewExempt([]string{glob}, rapid.Bool().Draw(t, "git"))
		require.NoError(t, err)
		name := strings.Join(rapid.SliceOfN(nameParts, 1, 5).Draw(t, "name"), "/")
		_, in := x.match(name)
		if in {
			_, below := x.match(name + "/c")
			require.True(t, below, "%s: %s is exempt and %s/c is not", glob, name, name)
			_, reserved := x.match(name + "/.jvs")
			require.False(t, reserved)
			dir := strings.TrimPrefix(path.Dir(name), ".")
			if path.Dir(name) != "." {
				dir = path.Dir(name)
			}
			require.True(t, x.mayHold(dir), "%s: %q holds %s", glob, dir, name)
		}
	})
}

func TestAHandleOfAnExemptPlaceIsDecidedByItsPlace(t *testing.T) {
	x := mustExempt(t, false, "cache/**")
	at := func(names ...string) Where { return Where{Worktree: "main", Names: names} }
	for name, c := range map[string]struct {
		enforce Enforce
		x       *Exempt
		w       Where
		want    bool
	}{
		"inside":           {Enforcing, x, at("cache/f"), true},
		"inside, observed": {Observing, x, at("cache/f"), true},
		"read-only mount":  {ReadOnly, x, at("cache/f"), false},
		"no rules":         {Enforcing, nil, at("cache/f"), false},
		"outside":          {Enforcing, x, at("src/f"), false},
		"the root of it":   {Enforcing, x, at("cache"), false},
		"out of it":        {Enforcing, x, at("cache/f", "src/f"), false},
		"into it":          {Enforcing, x, at("src/f", "cache/f"), false},
		"within it":        {Enforcing, x, at("cache/f", "cache/g"), true},
		"with .git below":  {Enforcing, x, at("cache/d", "cache/e", "cache/d/.git"), false},
		"hard link":        {Enforcing, x, Where{Worktree: "main", Names: []string{"cache/f"}, Linked: true}, false},
		"another worktree": {Enforcing, x, Where{Worktree: "other", Names: []string{"cache/f"}}, false},
		"cannot be told":   {Enforcing, x, at(), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, ok := decideByPlace(c.enforce, "main", c.x, c.w)
			require.Equal(t, c.want, ok)
		})
	}
}

// spot is a place that tests move.
type spot struct {
	w           Where
	held, asked int
	meanwhile   func() // happens once, after the place was looked up
}

func (s *spot) Hold(ok func(Where) bool) bool {
	s.asked++
	if !ok(s.w) {
		return false
	}
	s.held++
	if f := s.meanwhile; f != nil {
		s.meanwhile = nil
		f()
	}
	return true
}

func (s *spot) Release() { s.held = 0 }

func inCache() *spot { return &spot{w: Where{Worktree: "main", Names: []string{"cache/f"}}} }

func exemptGuard(t *testing.T, change func(*GuardConfig)) (*Guard, *keeper, *[]Exemption) {
	t.Helper()
	var told []Exemption
	g, k, _ := newTestGuard(t, func(c *GuardConfig) {
		c.Exempt, c.OnExempt = mustExempt(t, false, "cache/**"), func(x Exemption) { told = append(told, x) }
		if change != nil {
			change(c)
		}
	})
	return g, k, &told
}

func TestAStrangerWritesWhereAnybodyMay(t *testing.T) {
	g, k, told := exemptGuard(t, nil)
	k.give(userHolder(1000, "1000"))
	stranger := process.Caller{UID: 2000}
	at := inCache()
	p, no := g.Enter(Request{Op: OpWrite, Caller: stranger, At: at})
	require.Nil(t, no)
	require.True(t, p.ByPlace())
	require.Equal(t, ByPlace, p.Epoch())
	require.Equal(t, 1, at.held)
	p.End()
	require.Equal(t, []Exemption{{"main", OpWrite, "cache/**", "cache/f", stranger}}, *told)

	_, no = g.Enter(Request{Op: OpWrite, Caller: stranger, At: &spot{w: Where{Worktree: "main", Names: []string{"src/f"}}}})
	require.NotNil(t, no)
	require.Equal(t, ReasonHeldByOther, no.Reason)
	_, no = g.Enter(Request{Op: OpWrite, Caller: stranger})
	require.NotNil(t, no)

	at = inCache()
	p, no = g.Enter(Request{Op: OpWrite, Caller: process.Caller{UID: 1000}, At: at})
	require.Nil(t, no)
	require.False(t, p.ByPlace(), "the holder writes under its lease")
	require.Zero(t, at.asked, "and its place is of no interest")
	p.End()

	s := g.Status()
	require.EqualValues(t, 1, s.ExemptWrites)
	require.EqualValues(t, 1, s.Writes)
	require.EqualValues(t, 2, s.Refusals)
}

func TestAHandleIsJudgedByItsPlaceEachTime(t *testing.T) {
	g, k, _ := exemptGuard(t, nil)
	holder := userHolder(1000, "holder")
	token := k.give(holder)
	at := inCache()
	for _, epoch := range []Epoch{ByPlace, EpochOf(token + 7)} {
		p, no := g.Enter(Request{Op: OpWrite, Epoch: epoch, At: at})
		require.Nil(t, no)
		require.True(t, p.ByPlace())
		p.End()
		_, no = g.Enter(Request{Op: OpWrite, Epoch: epoch, Caller: process.Caller{UID: 1000}, At: &spot{w: Where{Worktree: "main", Names: []string{"src/f"}}}})
		require.NotNil(t, no, "the holder's own lease does not help a handle that rests on none")
	}
	_, no := g.Enter(Request{Op: OpWrite, Epoch: ByPlace, At: &spot{w: Where{Worktree: "main", Names: []string{"cache/f"}, Linked: true}}})
	require.NotNil(t, no)
	require.Equal(t, reasonNotExempt, no.Reason)
	require.Equal(t, lease.ClassFencingMismatch, no.Class())
	require.False(t, g.Current(ByPlace), "a mapping is not believed on its word")

	k.lose(lease.LossReleased, token, holder)
	p, no := g.Enter(Request{Op: OpWrite, Epoch: EpochOf(token), At: at})
	require.Nil(t, no, "where anybody may write a lease that is over is no reason to refuse")
	require.True(t, p.ByPlace())
	p.End()
}

func TestAnExemptWriteTakesNoLease(t *testing.T) {
	g, k, _ := exemptGuard(t, func(c *GuardConfig) { c.OnFree, c.Scope = AcquireOnFree, ScopeMount })
	p, no := g.Enter(Request{Op: OpCreate, At: inCache()})
	require.Nil(t, no)
	p.End()
	require.Empty(t, k.asked)
	p, no = g.Enter(Request{Op: OpCreate, At: &spot{w: Where{Worktree: "main", Names: []string{"src/f"}}}})
	require.Nil(t, no)
	p.End()
	require.Len(t, k.asked, 1)
}

func TestAReadOnlyMountExemptsNothing(t *testing.T) {
	g, _, told := exemptGuard(t, func(c *GuardConfig) { c.Enforcement = NewEnforcement(ReadOnly) })
	for _, epoch := range []Epoch{NoEpoch, ByPlace} {
		_, no := g.Enter(Request{Op: OpWrite, Epoch: epoch, At: inCache()})
		require.NotNil(t, no)
		require.Equal(t, ReasonReadOnly, no.Reason)
	}
	_, ok := g.Exempted(Request{Op: OpWrite, At: inCache()})
	require.False(t, ok)
	require.Empty(t, *told)
}

func TestWhatIsExemptWouldNotBeRefused(t *testing.T) {
	g, k, _ := exemptGuard(t, func(c *GuardConfig) { c.Enforcement = NewEnforcement(Observing) })
	k.give(userHolder(1000, "holder"))
	p, no := g.Enter(Request{Op: OpWrite, Caller: process.Caller{UID: 2000}, At: inCache()})
	require.Nil(t, no)
	p.End()
	require.Zero(t, g.Status().WouldRefuse)
	require.EqualValues(t, 1, g.Status().ExemptWrites)
}

// A mutation that is decided again after a switch is reported and counted once. Its place is not
// held for the void decision.
func TestAnExemptWriteIsCountedOnce(t *testing.T) {
	for name, ask := range map[string]func(*Guard, Request) (Pass, bool){
		"judged":    func(g *Guard, r Request) (Pass, bool) { p, no := g.Enter(r); return p, no == nil },
		"by itself": (*Guard).Exempted,
	} {
		for to, want := range map[Enforce]bool{Observing: true, ReadOnly: false} {
			t.Run(name+", then "+string(to), func(t *testing.T) {
				mode := NewEnforcement(Enforcing)
				g, k, told := exemptGuard(t, func(c *GuardConfig) { c.Enforcement = mode })
				k.give(userHolder(1000, "holder"))
				at := inCache()
				at.meanwhile = func() { require.NoError(t, mode.Switch(t.Context(), to, func() []*Guard { return nil })) }
				p, ok := ask(g, Request{Op: OpWrite, Caller: process.Caller{UID: 2000}, At: at})
				require.Equal(t, want, ok)
				p.End()
				n := 0
				if want {
					n = 1
				}
				require.Equal(t, n, at.held)
				require.Len(t, *told, n)
				require.EqualValues(t, n, g.Status().ExemptWrites)
			})
		}
	}
}

func TestExplainNamesTheExemptRule(t *testing.T) {
	g, k, _ := exemptGuard(t, nil)
	k.give(userHolder(54321, "holder"))
	w := Where{Worktree: "main", Names: []string{"cache/f"}}
	x := g.ExplainAt(1, w)
	require.True(t, x.Allowed)
	require.Equal(t, "cache/**", x.Exempt)
	require.Equal(t, "exempt by rule cache/**: anybody may write here", x.Sentence)
	require.Empty(t, x.Class)
	w.Linked = true
	x = g.ExplainAt(1, w)
	require.False(t, x.Allowed)
	require.Empty(t, x.Exempt)
	require.Equal(t, lease.ClassLockConflict, x.Class)
}

// The same rule may be written with more stars.
func TestSeveralStarsInARowAreOne(t *testing.T) {
	for glob, dir := range map[string]string{"b/**/**/a": "b", "**/**/a": "", "b/**/**/**/c/**/**": "b/c", "b/**/a": "b"} {
		x, err := NewExempt([]string{glob}, false)
		require.NoError(t, err)
		require.True(t, x.mayHold(dir), "%s: %q", glob, dir)
	}
	x, err := NewExempt([]string{"b/**/**/a"}, false)
	require.NoError(t, err)
	rule, ok := x.match("b/a")
	require.True(t, ok)
	require.Equal(t, "b/**/**/a", rule, "as it was asked for")
}
