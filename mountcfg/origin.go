package mountcfg

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// Origins of a value other than "FILE:LINE".
const (
	WhereDefault  = "default"
	WhereFlag     = "flag"
	WhereOption   = "-o option" // of a command line, or of a line of fstab through mount(8)
	WhereArgument = "argument"  // a positional argument, set by the command
)

// Origin says where an effective value came from.
type Origin struct {
	Key   string `json:"key"`   // the YAML key; worktrees.ID.KEY for an override, rules.NAME.KEY of a rule; once for each item of a list
	Value string `json:"value"` // in the form of the file; "" = not set
	Where string `json:"where"` // default | FILE:LINE | -o option | flag | argument | preset NAME
}

// Origins lists every value of the mount in the order of the documentation, then the overrides of
// worktrees sorted by id.
func (c Config) Origins() []Origin {
	out := make([]Origin, 0, len(fields)+3*len(c.Worktrees))
	for i := range fields {
		f := &fields[i]
		if f.list != nil && len(*f.list(&c)) > 0 {
			out = append(out, c.listOrigins(f.key, *f.list(&c))...)
			continue
		}
		if f.kind == kindRules && len(c.Rules) > 0 {
			out = append(out, c.rulesOrigins()...)
			continue
		}
		value := f.get(&c)
		if f.key == "scope" {
			value = cmp.Or(value, scopeDefault)
		}
		out = append(out, Origin{Key: f.key, Value: value, Where: c.where(f.key)})
	}
	for _, id := range slices.Sorted(maps.Keys(c.Worktrees)) {
		out = append(out, c.ruleOrigins(id)...)
	}
	return out
}

func (c Config) ruleOrigins(id string) []Origin {
	var out []Origin
	rule := c.Worktrees[id]
	for i := range ruleFields {
		f := &ruleFields[i]
		if value := *f.at(&rule); value != "" {
			key := ruleKey(id, f.key)
			out = append(out, Origin{Key: key, Value: value, Where: c.where(key)})
		}
	}
	key := ruleKey(id, keyExempt)
	if rule.Exempt != nil && len(rule.Exempt) == 0 {
		out = append(out, Origin{Key: key, Value: "[]", Where: c.where(key)})
	}
	return append(out, c.listOrigins(key, rule.Exempt)...)
}

// listOrigins has a line for each item of a list.
func (c Config) listOrigins(key string, items []string) []Origin {
	var out []Origin
	for i, item := range items {
		out = append(out, Origin{Key: key, Value: item, Where: c.where(itemKey(key, i))})
	}
	return out
}

func (c Config) where(key string) string {
	if w, ok := c.origins[key]; ok {
		return w
	}
	return WhereDefault
}

// remember copies before it writes. A Config is passed by value, and copies must not see each
// other's origins.
func (c *Config) remember(key, where string) {
	next := maps.Clone(c.origins)
	if next == nil {
		next = make(map[string]string)
	}
	next[key] = where
	c.origins = next
}

// itemKey is the key of the origin of a list's item.
func itemKey(key string, i int) string { return key + "[" + strconv.Itoa(i) + "]" }

func ruleKey(id, key string) string { return "worktrees." + id + "." + key }

// implyReadonly makes enforce readonly on a mount that is ro, so that explain gives the right
// reason. It does not if an equally strong source has set enforce; then Validate complains.
func (c *Config) implyReadonly() {
	if c.ReadOnly && rank(c.where(keyEnforce)) < rank(c.where(attrReadOnly)) {
		c.Enforce = enforceReadonly
		c.remember(keyEnforce, c.where(attrReadOnly))
	}
}

// rank orders the sources: a higher one wins.
func rank(where string) int {
	switch where {
	case WhereDefault:
		return 0
	case WhereOption:
		return 2
	case WhereFlag, WhereArgument:
		return 3
	}
	return 1 // FILE:LINE
}
