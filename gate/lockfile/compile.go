package lockfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The keys of a rule, as they are written.
const (
	KeyName    = "name"
	KeyLock    = "lock"
	KeyTakenBy = "taken_by"
	KeyHolder  = "holder"
	KeyGuards  = "guards"
	KeyExcept  = "except"
	KeyWithout = "without"
	KeyOnce    = "once"
	KeyKeep    = "keep"
	KeyAppend  = "append"
	KeyBreak   = "break"
	KeyOnGone  = "on_gone"
	KeyRecord  = "record"
)

// Mistake is what is wrong with a rule, and where.
type Mistake struct {
	Rule int    // its index
	Key  string // "": the rule as a whole
	Item int    // of a list; -1: the key as a whole
	Text string
}

// Rule is a rule that was understood.
type Rule struct {
	Spec
	lock                               *pattern // nil: none
	guards, except, once, keep, append []*pattern

	dirs    dirPattern // of ByLease
	notDirs []dirPattern
}

// Rules are all that hold in a worktree. nil has none. Rules are values: they may be used from many goroutines.
type Rules struct{ all, leases []*Rule }

// All are the rules in their order, but for those with taken_by: lease.
func (r *Rules) All() []*Rule {
	if r == nil {
		return nil
	}
	return r.all
}

// Compile reads rules, and finds all mistakes at once. With a mistake there are no rules.
func Compile(specs []Spec) (*Rules, []Mistake) {
	c := compiler{names: make(map[string]int)}
	for i, s := range specs {
		c.at = i
		c.rule(s)
	}
	if len(specs) > MaxRules {
		c.at = MaxRules
		c.fail("", -1, "want at most %d rules", MaxRules)
	}
	if len(c.mistakes) > 0 || len(c.rules)+len(c.leases) == 0 {
		return nil, c.mistakes
	}
	return &Rules{c.rules, c.leases}, nil
}

type compiler struct {
	at       int
	names    map[string]int
	rules    []*Rule
	leases   []*Rule
	leaseAt  []int // their indices
	mistakes []Mistake
}

func (c *compiler) fail(key string, item int, format string, args ...any) {
	c.mistakes = append(c.mistakes, Mistake{c.at, key, item, fmt.Sprintf(format, args...)})
}

// A repetition like {0,63} would be compiled 63 times over, at each start of each command.
var ruleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`) })

func isRuleName(s string) bool { return len(s) <= 64 && ruleName().MatchString(s) }

func (c *compiler) rule(s Spec) {
	c.name(s.Name)
	if s.TakenBy == ByLease {
		c.lease(s)
		return
	}
	r := &Rule{Spec: withDefaults(s)}
	if s.Lock != "" {
		r.lock = c.pattern(KeyLock, -1, s.Lock)
	}
	r.guards, r.except = c.list(KeyGuards, s.Guards), c.list(KeyExcept, s.Except)
	r.once, r.keep, r.append = c.list(KeyOnce, s.Once), c.list(KeyKeep, s.Keep), c.list(KeyAppend, s.Append)
	c.values(r)
	c.together(r)
	c.captures(r)
	c.rules = append(c.rules, r)
}

func withDefaults(s Spec) Spec {
	if s.Holder == "" {
		s.Holder = Tree
	}
	if s.Without == "" {
		s.Without = Deny
	}
	if s.OnGone == "" {
		s.OnGone = KeepIt
	}
	return s
}

func (c *compiler) name(name string) {
	if !isRuleName(name) {
		c.fail(KeyName, -1, "want a name of 1 to 64 letters, digits, dots and dashes, not %q", name)
	}
	if first, twice := c.names[name]; twice {
		c.fail(KeyName, -1, "rule %d is called %q, too", first+1, name)
		return
	}
	c.names[name] = c.at
}

func (c *compiler) list(key string, texts []string) (all []*pattern) {
	if len(texts) > MaxPatterns {
		c.fail(key, -1, "want at most %d patterns", MaxPatterns)
		return nil
	}
	for i, text := range texts {
		if p := c.pattern(key, i, text); p != nil {
			all = append(all, p)
		}
	}
	return all
}

func (c *compiler) pattern(key string, item int, text string) *pattern {
	p, err := parsePattern(text)
	if err != nil {
		c.fail(key, item, "%q: %v", text, err)
		return nil
	}
	if p.matchesAll() {
		c.fail(key, item, "%q: it matches everything", text)
		return nil
	}
	if ofRecords(p.text) {
		c.fail(key, item, "%q: .jvs/locks is jvsfs' own, and no rule reaches it", text)
		return nil
	}
	return p
}

// matchesAll tries names that nobody would mean.
func (p *pattern) matchesAll() bool {
	for _, path := range []string{"a", "Zq.7/_-\u20ac", "x/_-\u20ac-_ .x/z"} {
		if !p.re.MatchString(path) {
			return false
		}
	}
	return true
}

// ofRecords reports whether a path is of jvsfs' own records.
func ofRecords(path string) bool {
	return path == ".jvs/locks" || strings.HasPrefix(path, ".jvs/locks/")
}

// values checks what may be one of some words.
func (c *compiler) values(r *Rule) {
	check(c, KeyTakenBy, r.TakenBy, "", ByCreate, ByFlock, ByRecord, ByLease)
	check(c, KeyHolder, r.Holder, Tree, Parent, Session, User)
	check(c, KeyWithout, r.Without, Deny, Create, Allow)
	check(c, KeyOnGone, r.OnGone, KeepIt, Remove)
}

func check[T ~string](c *compiler, key string, have T, want ...T) {
	if slices.Contains(want, have) {
		return
	}
	var words []string
	for _, w := range want {
		if w != "" {
			words = append(words, string(w))
		}
	}
	c.fail(key, -1, "want %s, not %q", strings.Join(words, " or "), have)
}

// together checks which keys need, or exclude, each other.
func (c *compiler) together(r *Rule) {
	const none = "%s without lock says nothing"
	if r.Lock == "" {
		for key, set := range map[string]bool{
			KeyTakenBy: r.TakenBy != "", KeyGuards: len(r.Guards) > 0, KeyExcept: len(r.Except) > 0,
			KeyBreak: r.Break != Break{}, KeyOnGone: r.OnGone != KeepIt,
		} {
			if set {
				c.fail(key, -1, none, key)
			}
		}
		if len(r.Once)+len(r.Keep)+len(r.Append) == 0 {
			c.fail("", -1, "want a lock, or at least one of once, keep and append")
		}
		return
	}
	if r.TakenBy == "" {
		c.fail(KeyLock, -1, "want %s beside it: what takes the lock", KeyTakenBy)
	}
	if r.TakenBy == ByFlock && (r.Break != Break{} || r.OnGone != KeepIt) {
		c.fail(KeyBreak, -1, "a lock that is taken by flock ends with its holder: there is nothing to break or to remove")
	}
	c.record(r)
	for key, d := range map[string]int64{"after": int64(r.Break.After), "unknown": int64(r.Break.Unknown)} {
		if d < 0 {
			c.fail(KeyBreak, -1, "%s: want no negative duration", key)
		}
	}
}

// record checks that a record says all that decides.
func (c *compiler) record(r *Rule) {
	named := r.Record.Nonce != "" && r.Record.Token != "" && r.Record.Expires != ""
	switch {
	case r.TakenBy == ByRecord && !named:
		c.fail(KeyRecord, -1, "want nonce, token and expires: the names of these members in the lock file")
	case r.TakenBy != ByRecord && r.Record != RecordOf{}:
		c.fail(KeyRecord, -1, "it needs taken_by: record")
	case r.TakenBy == ByRecord && r.OnGone == Remove:
		c.fail(KeyOnGone, -1, "a record outlives its taker, so it is not removed with it")
	}
}

// captures checks that each guarded name has exactly one lock.
func (c *compiler) captures(r *Rule) {
	if r.lock == nil || len(r.guards) == 0 {
		return
	}
	if !r.lock.canBeFilled() {
		c.fail(KeyLock, -1, "%q: want captures instead of wildcards, so that what is guarded tells which lock is meant", r.Lock)
		return
	}
	want := r.lock.captures()
	for i, g := range r.guards {
		have := g.captures()
		for _, name := range want {
			if !slices.Contains(have, name) {
				c.fail(KeyGuards, i, "%q: {%s} of the lock is missing, so it is not known which lock guards a name", g.text, name)
			}
		}
		for _, name := range have {
			if !slices.Contains(want, name) {
				c.fail(KeyGuards, i, "%q: {%s} is not in the lock", g.text, name)
			}
		}
	}
	if i := r.guardsItself(); i >= 0 {
		c.fail(KeyGuards, i, "%q guards the lock %q itself; take it out with except", r.guards[i].text, r.Lock)
	}
}

// guardsItself finds a guard that matches the lock. Names for the captures are tried which nobody would mean.
func (r *Rule) guardsItself() int {
	var sample captured
	for _, name := range r.lock.captures() {
		sample = append(sample, Capture{name, "zq7" + name})
	}
	path := r.lock.fill(sample)
	if matchesAny(r.except, path) {
		return -1
	}
	return slices.IndexFunc(r.guards, func(g *pattern) bool { return g.re.MatchString(path) })
}

func matchesAny(all []*pattern, path string) bool {
	return slices.ContainsFunc(all, func(p *pattern) bool {
		return p.mayMatch(path) && p.re.MatchString(path)
	})
}
