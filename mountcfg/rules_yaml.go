package mountcfg

import (
	"reflect"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// rules reads the value of the key rules, or a file that is such a list.
func (r *reader) rules(n ast.Node) {
	items, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, "%s wants a list of presets and rules, not %s", keyRules, describe(n))
		return
	}
	for _, item := range items.Values {
		before, first := len(r.errs), len(r.c.Rules)
		r.ruleItem(item)
		for i := first; len(r.errs) > before && i < len(r.c.Rules); i++ {
			r.wrong[i] = true
		}
	}
}

func (r *reader) ruleItem(item ast.Node) {
	switch n := item.(type) {
	case *ast.StringNode:
		r.addRules(item, r.preset(item, n.Value), nil)
	case *ast.MappingNode, *ast.MappingValueNode:
		r.ruleMapping(item)
	default:
		r.fail(item, "a rule wants the name of a preset or lines of 'key: value', not %s", describe(item))
	}
}

// preset returns the rules of a preset, none if there is no such preset.
func (r *reader) preset(at ast.Node, name string) []LockRule {
	if r.inPreset {
		r.fail(at, "a preset is made of rules, and of no other preset")
		return nil
	}
	rules, err := presetRules(name)
	if err != nil {
		r.fail(at, "%v", err)
	}
	return rules
}

// addRules remembers where the rules of one item were written.
func (r *reader) addRules(item ast.Node, rules []LockRule, keys map[string]FileError) {
	at := r.markAt(item)
	for _, rule := range rules {
		r.c.addRule(rule, ruleMark{where: r.file + ":" + strconv.Itoa(at.Line), at: at, keys: keys})
	}
}

// markAt is the place where a node begins.
func (r *reader) markAt(n ast.Node) FileError {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 {
			n = m.Values[0].Key
		}
	case *ast.MappingValueNode:
		n = m.Key
	}
	at := n.GetToken().Position
	return *newFileError(r.file, r.lines, at.Line, at.Column, "")
}

// ruleMapping reads a rule: the keys of a preset, and over them its own.
func (r *reader) ruleMapping(item ast.Node) {
	var own []*ast.MappingValueNode
	rules := []LockRule{{}}
	r.each(item, "a rule", func(key string, entry *ast.MappingValueNode) {
		if key != rulePreset {
			own = append(own, entry)
			return
		}
		name, err := scalar(entry.Value, kindChoice)
		if err != nil {
			r.fail(entry.Value, "%s %v", key, err)
			return
		}
		if of := r.preset(entry.Value, name); of != nil {
			rules = of
		}
	})
	keys := make(map[string]FileError)
	for _, entry := range own {
		r.ruleEntry(rules, entry, keys)
	}
	for i := range rules {
		if rules[i].Preset == "" {
			rules[i].From = rules[i].Name
		}
	}
	r.addRules(item, rules, keys)
}

// ruleEntry reads one key, for all rules of a preset.
func (r *reader) ruleEntry(rules []LockRule, entry *ast.MappingValueNode, keys map[string]FileError) {
	key := entry.Key.GetToken().Value
	f := findLockField(lockFields, key)
	switch {
	case f == nil:
		r.fail(entry.Key, "unknown key %q of a rule%s", key, didYouMean(key, append([]string{rulePreset}, lockKeys(lockFields)...)))
		return
	case !f.ofPreset && len(rules) > 1:
		r.fail(entry.Key, "%s cannot be changed for the %d rules of preset %s at once; write rules of your own, from what jvsfs rules show %s prints",
			key, len(rules), rules[0].Preset, rules[0].Preset)
		return
	case f.of != nil:
		r.ruleMembers(rules, f, entry)
	default:
		if _, list := f.at(&rules[0]).(*[]string); list {
			r.rulePatterns(rules, f, entry, keys)
		} else {
			r.ruleValue(rules, f, entry)
		}
	}
	keys[key] = r.markAt(entry.Value)
}

func (r *reader) ruleValue(rules []LockRule, f *lockField, entry *ast.MappingValueNode) {
	text, err := scalar(entry.Value, f.kind)
	switch {
	case err != nil:
		r.fail(entry.Value, "%s %v", f.key, err)
		return
	case text == "" && (f.kind == kindChoice || f.kind == kindGlobs):
		r.fail(entry.Value, "%s wants %s, not an empty value", f.key, f.kind.want())
		return
	}
	for i := range rules {
		err = f.set(&rules[i], text)
	}
	if err != nil {
		r.fail(entry.Value, "%s %q: %v", f.key, text, err)
	}
}

func (r *reader) rulePatterns(rules []LockRule, f *lockField, entry *ast.MappingValueNode, keys map[string]FileError) {
	all := []string{}
	r.items(entry, f.key, "patterns", f.kind, func(item ast.Node, text string) {
		keys[itemKey(f.key, len(all))] = r.markAt(item)
		all = append(all, text)
	})
	for i := range rules {
		*f.at(&rules[i]).(*[]string) = all
	}
}

// ruleMembers replaces a mapping as a whole.
func (r *reader) ruleMembers(rules []LockRule, f *lockField, entry *ast.MappingValueNode) {
	for i := range rules {
		reflect.ValueOf(f.at(&rules[i])).Elem().SetZero()
	}
	r.each(entry.Value, f.key, func(key string, e *ast.MappingValueNode) {
		if member := findLockField(f.of, key); member != nil {
			r.ruleValue(rules, member, e)
			return
		}
		known := lockKeys(f.of)
		r.fail(e.Key, "unknown key %q of %s; want %s%s", key, f.key, choice{words: known}, didYouMean(key, known))
	})
}
