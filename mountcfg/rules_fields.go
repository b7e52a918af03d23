package mountcfg

import "time"

// The keys of a rule.
const (
	ruleName   = "name"
	rulePreset = "preset"
	ruleBreak  = "break"
	ruleRecord = "record"
)

// lockField is one key of a rule: a text or a list of patterns.
type lockField struct {
	key      string
	kind     kind
	text     func(*LockRule) *string
	list     func(*LockRule) *[]string
	ofPreset bool // it may be changed for all rules of a preset at once
}

var lockFields = []lockField{
	{key: ruleName, text: func(r *LockRule) *string { return &r.Name }},
	{key: "lock", kind: kindGlobs, text: func(r *LockRule) *string { return &r.Lock }},
	{key: "taken_by", text: func(r *LockRule) *string { return &r.TakenBy }},
	{key: "holder", text: func(r *LockRule) *string { return &r.Holder }, ofPreset: true},
	{key: "guards", list: func(r *LockRule) *[]string { return &r.Guards }},
	{key: "except", list: func(r *LockRule) *[]string { return &r.Except }},
	{key: "without", text: func(r *LockRule) *string { return &r.Without }, ofPreset: true},
	{key: "once", list: func(r *LockRule) *[]string { return &r.Once }},
	{key: "keep", list: func(r *LockRule) *[]string { return &r.Keep }},
	{key: "append", list: func(r *LockRule) *[]string { return &r.Append }},
	{key: "on_gone", text: func(r *LockRule) *string { return &r.OnGone }, ofPreset: true},
}

func findLockField(key string) *lockField {
	for i := range lockFields {
		if lockFields[i].key == key {
			return &lockFields[i]
		}
	}
	return nil
}

// lockRuleKeys are the keys of a rule as people may write them.
func lockRuleKeys() []string {
	keys := []string{rulePreset, ruleBreak, ruleRecord}
	for i := range lockFields {
		keys = append(keys, lockFields[i].key)
	}
	return keys
}

// recordField is one key of record.
type recordField struct {
	key  string
	text func(*LockRecord) *string
}

var recordFields = []recordField{
	{"nonce", func(r *LockRecord) *string { return &r.Nonce }},
	{"token", func(r *LockRecord) *string { return &r.Token }},
	{"expires", func(r *LockRecord) *string { return &r.Expires }},
}

func recordKeys() (keys []string) {
	for _, f := range recordFields {
		keys = append(keys, f.key)
	}
	return keys
}

// breakField is one key of break.
type breakField struct {
	key  string
	kind kind
	flag func(*LockBreak) *bool
	time func(*LockBreak) *time.Duration
}

var breakFields = []breakField{
	{key: "gone", kind: kindBool, flag: func(b *LockBreak) *bool { return &b.Gone }},
	{key: "after", kind: kindDuration, time: func(b *LockBreak) *time.Duration { return &b.After }},
	{key: "unknown", kind: kindDuration, time: func(b *LockBreak) *time.Duration { return &b.Unknown }},
}

func breakKeys() (keys []string) {
	for i := range breakFields {
		keys = append(keys, breakFields[i].key)
	}
	return keys
}
