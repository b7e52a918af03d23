package mountcfg

import (
	"cmp"
	"maps"
	"slices"
)

// Places a value comes from besides "FILE:LINE".
const (
	WhereDefault  = "default"
	WhereFlag     = "flag"
	WhereOption   = "-o option" // of a command line, or of a line of fstab by way of mount(8)
	WhereArgument = "argument"  // a positional argument, set by the command
)

// Origin says where one effective value came from.
type Origin struct {
	Key   string `json:"key"`   // the YAML key; worktrees.ID.KEY for an override
	Value string `json:"value"` // as the file would have it; "" = not set
	Where string `json:"where"` // default | FILE:LINE | -o option | flag | argument
}

// Origins lists every value of the mount in the order of the documentation, then
// the overrides of worktrees sorted by id.
func (c Config) Origins() []Origin {
	out := make([]Origin, 0, len(fields)+3*len(c.Worktrees))
	for i := range fields {
		f := &fields[i]
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
	return out
}

func (c Config) where(key string) string {
	if w, ok := c.origins[key]; ok {
		return w
	}
	return WhereDefault
}

// remember copies before it writes: a Config is passed by value, and copies must
// not see each other's origins.
func (c *Config) remember(key, where string) {
	next := maps.Clone(c.origins)
	if next == nil {
		next = make(map[string]string)
	}
	next[key] = where
	c.origins = next
}

func ruleKey(id, key string) string { return "worktrees." + id + "." + key }

// implyReadonly makes enforce readonly on a mount that is ro, so that explain gives the
// right reason, unless a source as strong says what enforce is: Validate then complains.
func (c *Config) implyReadonly() {
	if c.ReadOnly && rank(c.where(keyEnforce)) < rank(c.where(attrReadOnly)) {
		c.Enforce = enforceReadonly
		c.remember(keyEnforce, c.where(attrReadOnly))
	}
}

// rank orders the sources by strength.
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
