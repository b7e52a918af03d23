package mountcfg

import (
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
	f := findLockField(key)
	switch {
	case f == nil && key != ruleBreak && key != ruleRecord:
		r.fail(entry.Key, "unknown key %q of a rule%s", key, didYouMean(key, lockRuleKeys()))
		return
	case f != nil && !f.ofPreset && len(rules) > 1:
		r.fail(entry.Key, "%s cannot be changed for the %d rules of preset %s at once; write rules of your own, from what jvsfs rules show %s prints",
			key, len(rules), rules[0].Preset, rules[0].Preset)
		return
	case key == ruleRecord:
		r.ruleRecord(rules, entry)
	case f == nil:
		r.ruleBreak(rules, entry)
	case f.list != nil:
		r.rulePatterns(rules, f, entry, keys)
	default:
		r.ruleText(rules, f, entry)
	}
	keys[key] = r.markAt(entry.Value)
}

func (r *reader) ruleText(rules []LockRule, f *lockField, entry *ast.MappingValueNode) {
	text, err := scalar(entry.Value, f.kind)
	switch {
	case err != nil:
		r.fail(entry.Value, "%s %v", f.key, err)
	case text == "":
		r.fail(entry.Value, "%s wants %s, not an empty value", f.key, f.kind.want())
	}
	for i := range rules {
		*f.text(&rules[i]) = text
	}
}

func (r *reader) rulePatterns(rules []LockRule, f *lockField, entry *ast.MappingValueNode, keys map[string]FileError) {
	items, ok := entry.Value.(*ast.SequenceNode)
	if !ok {
		r.fail(entry.Value, "%s wants a list of patterns, not %s", f.key, describe(entry.Value))
		return
	}
	all := []string{}
	for i, item := range items.Values {
		text, err := scalar(item, kindGlobs)
		if err != nil {
			r.fail(item, "%s %v", f.key, err)
		}
		all = append(all, text)
		keys[itemKey(f.key, i)] = r.markAt(item)
	}
	for i := range rules {
		*f.list(&rules[i]) = all
	}
}

// ruleRecord replaces the mapping as a whole.
func (r *reader) ruleRecord(rules []LockRule, entry *ast.MappingValueNode) {
	var of LockRecord
	r.each(entry.Value, ruleRecord, func(key string, e *ast.MappingValueNode) {
		for _, f := range recordFields {
			if f.key != key {
				continue
			}
			text, err := scalar(e.Value, kindChoice)
			if err != nil {
				r.fail(e.Value, "%s %v", f.key, err)
			}
			*f.text(&of) = text
			return
		}
		r.fail(e.Key, "unknown key %q of record; want nonce, token or expires%s", key, didYouMean(key, recordKeys()))
	})
	for i := range rules {
		rules[i].Record = of
	}
}

// ruleBreak replaces the mapping as a whole.
func (r *reader) ruleBreak(rules []LockRule, entry *ast.MappingValueNode) {
	var b LockBreak
	r.each(entry.Value, ruleBreak, func(key string, e *ast.MappingValueNode) {
		for i := range breakFields {
			if f := &breakFields[i]; f.key == key {
				r.breakValue(&b, f, e)
				return
			}
		}
		r.fail(e.Key, "unknown key %q of break; want gone, after or unknown%s", key, didYouMean(key, breakKeys()))
	})
	for i := range rules {
		rules[i].Break = b
	}
}

func (r *reader) breakValue(b *LockBreak, f *breakField, e *ast.MappingValueNode) {
	text, err := scalar(e.Value, f.kind)
	if err != nil {
		r.fail(e.Value, "%s %v", f.key, err)
		return
	}
	if f.kind == kindBool {
		*f.flag(b), err = parseBool(text)
	} else {
		*f.time(b), err = parseDuration(text, false)
	}
	if err != nil {
		r.fail(e.Value, "%s %q: %v", f.key, text, err)
	}
}
