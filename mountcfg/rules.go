package mountcfg

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const keyRules = "rules"

// LockRule tells of the lock files of another program, with its preset expanded. Its shape is right. What its words
// and patterns mean is known to those who enforce it: they check that with a RuleCheck.
type LockRule struct {
	Name    string
	From    string // the item that brought it: a preset, a file of rules, or the rule's own name
	Preset  string // "" = none
	Lock    string // patterns are relative to the root of Source
	TakenBy string
	Holder  string
	Guards  []string
	Except  []string
	Without string
	Once    []string
	Keep    []string
	Append  []string
	Break   LockBreak
	OnGone  string
	Record  LockRecord
}

// LockBreak says when another than the holder may take a lock away.
type LockBreak struct {
	Gone    bool
	After   time.Duration // in whole milliseconds; 0 = never
	Unknown time.Duration // in whole milliseconds; 0 = never
}

// LockRecord names members of a lock file that is a JSON record.
type LockRecord struct {
	Nonce   string
	Token   string
	Expires string
}

// RuleMistake is what is wrong with a rule beyond its shape.
type RuleMistake struct {
	Rule int    // its index
	Key  string // "" = the rule as a whole
	Item int    // of a list; -1 = the key as a whole
	Text string
}

// RuleCheck finds the mistakes that the shape of rules does not show.
type RuleCheck func([]LockRule) []RuleMistake

// ruleMark says where a rule was written.
type ruleMark struct {
	where string               // of the item, as an origin
	at    FileError            // of the item, without a message; Line 0 = in no file
	keys  map[string]FileError // of its own keys, and of the items of those that are lists
}

func (c *Config) clearRules() { c.Rules, c.marks = nil, nil }

// addRule copies before it appends: a Config is passed by value.
func (c *Config) addRule(rule LockRule, mark ruleMark) {
	c.Rules = append(slices.Clip(c.Rules), rule)
	c.marks = append(slices.Clip(c.marks), mark)
}

// ruleSources are the items that brought the rules, in the form in which Set takes those of flags and options.
func (c *Config) ruleSources() (all []string) {
	for _, rule := range c.Rules {
		if len(all) == 0 || all[len(all)-1] != rule.From {
			all = append(all, rule.From)
		}
	}
	return all
}

// rulesField is a list of presets and files of rules. The file has rules of its own, too.
func rulesField(usage string) field {
	return field{
		key: keyRules, kind: kindRules, usage: usage, clear: (*Config).clearRules,
		get: func(c *Config) string { return strings.Join(c.ruleSources(), " ") },
		set: func(c *Config, text, _ string) error { return c.addRulesOf(text) },
	}
}

// addRulesOf appends what an item of flags or options brings: a preset, or a file of rules.
func (c *Config) addRulesOf(text string) error {
	rules, marks, err := rulesOf(text)
	if err != nil {
		return err
	}
	for i, rule := range rules {
		rule.From = text
		c.addRule(rule, marks[i])
	}
	return nil
}

// isRuleFile tells files and presets apart by their form, so that a file that comes to exist changes nothing.
func isRuleFile(text string) bool { return strings.ContainsAny(text, "/.") }

func rulesOf(text string) ([]LockRule, []ruleMark, error) {
	if !isRuleFile(text) {
		rules, err := presetRules(text)
		return rules, make([]ruleMark, len(rules)), err
	}
	c, err := readRules(text, (*reader).ruleFile, nil)
	if err == nil && len(c.Rules) == 0 {
		err = fmt.Errorf("%s has no rules", text)
	}
	return c.Rules, c.marks, err
}

// Rules returns a configuration with the rules of a preset, of a file of rules, or of a configuration file.
func Rules(text string, checks ...RuleCheck) (Config, error) {
	if isRuleFile(text) {
		return readRules(text, (*reader).ruleFileOrConfiguration, checks)
	}
	c := Default()
	if err := c.addRulesOf(text); err != nil {
		return Config{}, err
	}
	return c, c.checkRules(checks)
}

// checkRules returns what the checks find, at the places in the files.
func (c Config) checkRules(checks []RuleCheck) error {
	return errors.Join(c.ruleErrors(checks, nil)...)
}

// ruleErrors leaves out the rules whose shape was wrong already.
func (c Config) ruleErrors(checks []RuleCheck, wrong map[int]bool) (errs []error) {
	var all []RuleMistake
	for _, check := range checks {
		all = append(all, check(c.Rules)...)
	}
	slices.SortStableFunc(all, func(a, b RuleMistake) int {
		x, y := c.markOf(a), c.markOf(b)
		if a.Rule != b.Rule {
			return a.Rule - b.Rule
		}
		if x.Line != y.Line {
			return x.Line - y.Line
		}
		if x.Column != y.Column {
			return x.Column - y.Column
		}
		return strings.Compare(a.Key+a.Text, b.Key+b.Text)
	})
	for _, m := range all {
		if !wrong[m.Rule] {
			errs = append(errs, c.ruleError(m))
		}
	}
	return errs
}

// markOf is the nearest place: the item, its key, or the rule.
func (c Config) markOf(m RuleMistake) FileError {
	if m.Rule >= len(c.marks) {
		return FileError{}
	}
	mark := c.marks[m.Rule]
	for _, key := range []string{itemKey(m.Key, m.Item), m.Key} {
		if at, ok := mark.keys[key]; ok {
			return at
		}
	}
	return mark.at
}

func (c Config) ruleError(m RuleMistake) error {
	text := m.Text
	if m.Key != "" {
		text = m.Key + ": " + text
	}
	if m.Rule < len(c.Rules) {
		text = "rule " + c.ruleTitle(m.Rule) + ": " + text
	}
	if at := c.markOf(m); at.Line > 0 {
		at.Message = text
		return &at
	}
	return fmt.Errorf("%s (%s): %s", keyRules, c.where(keyRules), text)
}

// ruleTitle is the name of a rule, or its number if it has none.
func (c Config) ruleTitle(i int) string {
	if name := c.Rules[i].Name; name != "" && len(name) <= 64 {
		return name
	}
	return fmt.Sprint(i + 1)
}
