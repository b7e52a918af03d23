package mountcfg

import (
	"fmt"
	"strings"
	"time"
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
		items, list := f.at(&r).(*[]string)
		switch text := f.text(&r); {
		case list:
			for _, item := range *items {
				out = append(out, Origin{Key: f.key, Value: item})
			}
		case text != "" && f.key != ruleName:
			out = append(out, Origin{Key: f.key, Value: text})
		}
	}
	return out
}

// text is a value, or a mapping, as in a file; "" if it is not set. A list has none.
func (f *lockField) text(r *LockRule) string {
	switch at := f.at(r).(type) {
	case *string:
		return *at
	case *bool:
		if *at {
			return "true"
		}
	case *time.Duration:
		if *at != 0 {
			return at.String()
		}
	}
	var items []string
	for i := range f.of {
		if text := f.of[i].text(r); text != "" {
			items = append(items, f.of[i].key+": "+text)
		}
	}
	if len(items) == 0 {
		return ""
	}
	return "{" + strings.Join(items, ", ") + "}"
}
