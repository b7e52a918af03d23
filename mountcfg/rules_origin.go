package mountcfg

import (
	"fmt"
	"strings"
)

// rulesOrigins has a row for each item of the list, and below it one for each key of its rules.
func (c Config) rulesOrigins() (out []Origin) {
	from := ""
	for i, rule := range c.Rules {
		where := c.where(keyRules)
		if i < len(c.marks) {
			where = c.marks[i].where
		}
		if row := (Origin{Key: keyRules, Value: rule.From, Where: where}); i == 0 || rule.From != from {
			out, from = append(out, row), rule.From
		}
		items := make(map[string]int)
		for _, row := range rule.rows() {
			row.Where = c.whereOfRule(i, row.Key, items[row.Key], where)
			items[row.Key]++
			row.Key = keyRules + "." + rule.Name + "." + row.Key
			out = append(out, row)
		}
	}
	return out
}

// whereOfRule is the place of a key of a rule, or of one of its items: its own, its preset, or that of the rule.
func (c Config) whereOfRule(i int, key string, item int, rule string) string {
	if i >= len(c.marks) {
		return rule
	}
	for _, k := range []string{itemKey(key, item), key} {
		if at, own := c.marks[i].keys[k]; own {
			return fmt.Sprintf("%s:%d", at.File, at.Line)
		}
	}
	if preset := c.Rules[i].Preset; preset != "" {
		return "preset " + preset
	}
	return rule
}

// rows are the keys of a rule that are set, but for its name.
func (r LockRule) rows() (out []Origin) {
	for i := range lockFields {
		f := &lockFields[i]
		switch {
		case f.key == ruleName:
		case f.list != nil:
			for _, item := range *f.list(&r) {
				out = append(out, Origin{Key: f.key, Value: item})
			}
		case *f.text(&r) != "":
			out = append(out, Origin{Key: f.key, Value: *f.text(&r)})
		}
	}
	if text := r.Break.String(); text != "" {
		out = append(out, Origin{Key: ruleBreak, Value: text})
	}
	if text := r.Record.String(); text != "" {
		out = append(out, Origin{Key: ruleRecord, Value: text})
	}
	return out
}

// String is the mapping as in a file, "" for an empty one.
func (r LockRecord) String() string {
	var items []string
	for _, f := range recordFields {
		if text := *f.text(&r); text != "" {
			items = append(items, f.key+": "+text)
		}
	}
	if len(items) == 0 {
		return ""
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// String is the mapping as in a file, "" for an empty one.
func (b LockBreak) String() string {
	var items []string
	for i := range breakFields {
		f := &breakFields[i]
		switch {
		case f.flag != nil && *f.flag(&b):
			items = append(items, f.key+": true")
		case f.time != nil && *f.time(&b) != 0:
			items = append(items, f.key+": "+f.time(&b).String())
		}
	}
	if len(items) == 0 {
		return ""
	}
	return "{" + strings.Join(items, ", ") + "}"
}
