package mountcfg

import "time"

// Keys of a rule that are no values of it alone.
const (
	ruleName   = "name"
	rulePreset = "preset"
)

// lockField is one key of a rule, or of a mapping in it.
type lockField struct {
	key      string
	kind     kind
	at       func(*LockRule) any // a *string, *[]string, *bool or *time.Duration; of a mapping its struct
	of       []lockField         // the keys of a mapping
	ofPreset bool                // it may be changed for all rules of a preset at once
}

var lockFields = []lockField{
	{key: ruleName, at: func(r *LockRule) any { return &r.Name }},
	{key: "lock", kind: kindGlobs, at: func(r *LockRule) any { return &r.Lock }},
	{key: "taken_by", at: func(r *LockRule) any { return &r.TakenBy }},
	{key: "holder", at: func(r *LockRule) any { return &r.Holder }, ofPreset: true},
	{key: "guards", kind: kindGlobs, at: func(r *LockRule) any { return &r.Guards }},
	{key: "except", kind: kindGlobs, at: func(r *LockRule) any { return &r.Except }},
	{key: "without", at: func(r *LockRule) any { return &r.Without }, ofPreset: true},
	{key: "once", kind: kindGlobs, at: func(r *LockRule) any { return &r.Once }},
	{key: "keep", kind: kindGlobs, at: func(r *LockRule) any { return &r.Keep }},
	{key: "append", kind: kindGlobs, at: func(r *LockRule) any { return &r.Append }},
	{key: "on_gone", at: func(r *LockRule) any { return &r.OnGone }, ofPreset: true},
	{key: "break", at: func(r *LockRule) any { return &r.Break }, ofPreset: true, of: []lockField{
		{key: "gone", kind: kindBool, at: func(r *LockRule) any { return &r.Break.Gone }},
		{key: "after", kind: kindDuration, at: func(r *LockRule) any { return &r.Break.After }},
		{key: "unknown", kind: kindDuration, at: func(r *LockRule) any { return &r.Break.Unknown }},
	}},
	{key: "record", at: func(r *LockRule) any { return &r.Record }, ofPreset: true, of: []lockField{
		{key: "nonce", at: func(r *LockRule) any { return &r.Record.Nonce }},
		{key: "token", at: func(r *LockRule) any { return &r.Record.Token }},
		{key: "expires", at: func(r *LockRule) any { return &r.Record.Expires }},
	}},
}

func findLockField(of []lockField, key string) *lockField {
	for i := range of {
		if of[i].key == key {
			return &of[i]
		}
	}
	return nil
}

func lockKeys(of []lockField) []string {
	keys := make([]string, len(of))
	for i := range of {
		keys[i] = of[i].key
	}
	return keys
}

// set reads a value, but not a list or a mapping.
func (f *lockField) set(r *LockRule, text string) (err error) {
	switch at := f.at(r).(type) {
	case *string:
		*at = text
	case *bool:
		*at, err = parseBool(text)
	case *time.Duration:
		*at, err = parseDuration(text, false)
	}
	return err
}
