package learn

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// guardsMax is how many names are listed before a rule guards the whole directory.
const guardsMax = 6

// Text is the proposal: a file of rules.
func (f Found) Text() string {
	var b strings.Builder
	b.WriteString("# A proposal, from what was seen. What was not seen is not in it: read it, and mount with `enforce: observe` first.\n")
	names := map[string]int{}
	for _, g := range f.rules {
		name := g.name()
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, names[name])
		}
		f.rule(&b, g, name)
	}
	for _, g := range f.maybe {
		fmt.Fprintf(&b, "# %s came and went once: a lock, or a temporary file. More runs tell.\n", shown(g.tenures[0].lock))
	}
	for _, name := range f.ranges {
		fmt.Fprintf(&b, "# %s: ranges of it were locked with fcntl, which a rule cannot tell.\n", shown(name))
	}
	if n := len(f.once); n > 0 {
		fmt.Fprintf(&b, "# Files that were made and not changed by another program later: %d, such as %s. If that is so always, a rule may have `once`.\n", n, shown(f.once[0]))
	}
	return b.String()
}

func shown(name string) string { return human.Printable(name) }

// quoted is a pattern in YAML.
func quoted(p string) string { return "'" + strings.ReplaceAll(p, "'", "''") + "'" }

func list(all []string) string {
	quotes := make([]string, 0, len(all))
	for _, p := range all {
		quotes = append(quotes, quoted(p))
	}
	return "[" + strings.Join(quotes, ", ") + "]"
}

func (f Found) rule(b *strings.Builder, g *group, name string) {
	captured, wild := place(g.dirs())
	lock, lockWild := captured+literal(g.base), wild+literal(g.base)
	var guards []string
	if g.derived {
		lock, lockWild = captured+literal(g.pre)+"{f}"+literal(g.suf), wild+literal(g.pre)+"*"+literal(g.suf)
		guards = []string{captured + "{f}"}
	} else {
		for _, one := range f.guarded(g) {
			guards = append(guards, captured+one)
		}
	}
	f.seen(b, g)
	fmt.Fprintf(b, "- name: %s\n  lock: %s\n", name, quoted(lock))
	if strings.Contains(literal(g.pre+g.suf+g.base), "?") {
		b.WriteString("  # a character of the name means something in patterns: `?` is any one\n")
	}
	g.takenBy(b)
	fmt.Fprintf(b, "  guards: %s\n", list(guards))
	if len(guards) > 0 {
		except := []string{lockWild}
		if g.tenures[0].how == Mkdir {
			except = append(except, lockWild+"/**")
		}
		fmt.Fprintf(b, "  except: %s\n", list(except))
		f.without(b, g)
	}
	if g.tenures[0].how != Flock {
		b.WriteString("  # break and on_gone: what is to become of the lock of a holder that has ended cannot be seen. Without them nobody\n" +
			"  # else removes it. `break: {gone: true}` lets the next one do so.\n")
	}
}

// name is made of what the locks are called.
func (g *group) name() string {
	text := g.base
	if g.derived {
		text = g.pre + g.suf
	}
	text = strings.Trim(strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.') {
			return r
		}
		return '-'
	}, text), ".-")
	return "learned-" + text[:min(len(text), 40)]
}

func (g *group) takenBy(b *strings.Builder) {
	if g.tenures[0].how == Flock {
		b.WriteString("  taken_by: flock\n")
		return
	}
	b.WriteString("  taken_by: create\n")
	if slices.ContainsFunc(g.tenures, (*tenure).helped) {
		b.WriteString("  holder: parent # the process that made it was not the one that removed it, nor its parent\n")
	}
}

// seen says what the rule rests on.
func (f Found) seen(b *strings.Builder, g *group) {
	var by, locks []string
	for _, t := range g.tenures {
		by, locks = append(by, t.taker.Name), append(locks, t.lock)
	}
	slices.Sort(by)
	slices.Sort(locks)
	by, locks = slices.Compact(by), slices.Compact(locks)
	how := map[Kind]string{Create: "made with O_EXCL", Mkdir: "made with mkdir", Link: "made with link", Flock: "locked with flock"}
	fmt.Fprintf(b, "\n# seen: %s, %s, such as %s, %s by %s\n", counted(len(g.tenures), "time"), counted(len(locks), "lock"), shown(locks[0]), how[g.tenures[0].how], shown(strings.Join(by, ", ")))
	if len(g.dirs()) == 1 {
		fmt.Fprintf(b, "# seen in one directory only. If there are others like it, put a capture such as {x} in place of what varies.\n")
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// guarded are the names that were changed under the locks, from their directories on.
func (f Found) guarded(g *group) (names []string) {
	for _, t := range g.tenures {
		for _, name := range t.changed {
			rest, below := beneath(path.Dir(t.lock), name)
			if !below || slices.Contains(f.gone, name) || f.isLock(name) {
				continue
			}
			first, more, deep := strings.Cut(rest, "/")
			if first = literal(first); deep && more != "" {
				first += "/**"
			}
			names = append(names, first)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(names, n+"/**") })
	if len(names) > guardsMax {
		return []string{"**"}
	}
	return names
}

func beneath(dir, name string) (rest string, below bool) {
	if dir == "." {
		return name, true
	}
	return strings.CutPrefix(name, dir+"/")
}

// isLock reports whether a name is a lock, or in one.
func (f Found) isLock(name string) bool {
	return slices.ContainsFunc(f.rules, func(g *group) bool {
		return slices.ContainsFunc(g.tenures, func(t *tenure) bool { return t.lock == name || strings.HasPrefix(name, t.lock+"/") })
	})
}

// without says whether what is guarded was changed without the lock, too.
func (f Found) without(b *strings.Builder, g *group) {
	if g.derived {
		b.WriteString("  without: allow # the pattern also matches what has no lock; without it only who holds the lock writes there\n")
		return
	}
	if name := f.unlocked(g); name != "" {
		fmt.Fprintf(b, "  without: allow # %s was changed while nobody had the lock, too\n", shown(name))
		return
	}
	b.WriteString("  # every change that was seen was made under the lock; `without: allow` lets others write while nobody holds it\n")
}

func (f Found) unlocked(g *group) string {
	held := map[string]bool{}
	for _, t := range g.tenures {
		for _, name := range t.changed {
			held[name] = true
		}
	}
	for i, e := range f.events {
		during := slices.ContainsFunc(g.tenures, func(t *tenure) bool { return t.from <= i && i <= t.to })
		for _, name := range e.touched() {
			if !during && held[name] && !f.isLock(name) && !slices.Contains(f.gone, name) {
				return name
			}
		}
	}
	return ""
}
