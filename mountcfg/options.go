package mountcfg

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// keyFile is the option that names a configuration file.
const keyFile = "config"

// Options are parsed mount options; a later one overrides an earlier one. Pass them to
// ResolveOptions. The zero value sets nothing.
type Options struct {
	File     string   // of config=FILE, absolute; "" = none
	Unknown  []string // names that ParseSloppyOptions has left out
	settings []setting
}

type setting struct{ key, text string }

// ParseOptions reads a comma-separated list as mount(8) takes it with -o: the generic options of
// mount(8), config=FILE, and KEY=VALUE for every key of the configuration file, with - or _. A list
// (exempt, rules) takes one item each time. All mistakes are reported at once, each with the name of its
// option. ResolveOptions checks the values.
//
// Double quotes keep commas in a value together, as in libmount. A backslash before a comma, a
// quote or a backslash escapes it, as in libfuse.
func ParseOptions(text string) (Options, error) { return parseOptions(text, false) }

// ParseSloppyOptions is ParseOptions for mount -s, which tolerates unknown options.
func ParseSloppyOptions(text string) (Options, error) { return parseOptions(text, true) }

func parseOptions(text string, sloppy bool) (Options, error) {
	items, err := splitOptions(text)
	if err != nil {
		return Options{}, err
	}
	p := optionParser{sloppy: sloppy, attributes: map[string]string{}}
	var errs []error
	for _, item := range items {
		if err := p.take(item); err != nil {
			errs = append(errs, fmt.Errorf("mount option %s: %w", quoteName(item.name), err))
		}
	}
	if len(errs) > 0 {
		return Options{}, errors.Join(errs...)
	}
	for _, key := range attributes {
		if word, ok := p.attributes[key]; ok {
			p.opts.set(key, word)
		}
	}
	return p.opts, nil
}

type optionParser struct {
	opts       Options
	sloppy     bool
	attributes map[string]string // true or false
}

func (p *optionParser) take(o option) error {
	if g, ok := findGeneric(o.name); ok {
		return p.generic(g, o)
	}
	key := strings.ReplaceAll(o.name, "-", "_")
	switch key {
	case keyFile:
		return p.file(o)
	case keyWorktrees:
		return fmt.Errorf("worktrees are named in a file: %s=FILE", keyFile)
	}
	f, suffix := findOptionField(key)
	switch {
	case f != nil && f.kind == kindBool && !o.valued:
		p.opts.set(f.key, "true")
		return nil
	case f != nil && !o.valued:
		return fmt.Errorf("wants %s: %s=VALUE", f.kind.want(), key)
	case f != nil && suffix != "" && !isNumber(o.value):
		return fmt.Errorf("wants %s, not %s", kindMillis.want(), quoteName(o.value))
	case f != nil:
		p.opts.set(f.key, o.value+suffix)
		return nil
	case p.sloppy:
		p.opts.Unknown = append(p.opts.Unknown, o.name)
		return nil
	}
	return fmt.Errorf("jvsfs does not know it%s", didYouMean(o.name, optionNames()))
}

// generic applies an option of mount(8).
func (p *optionParser) generic(g generic, o option) error {
	switch {
	case o.valued && slices.Contains(attributes, o.name):
		if _, err := parseBool(o.value); err != nil {
			return err
		}
		p.attributes[o.name] = o.value
		return nil
	case o.valued && !g.valued:
		return errors.New("takes no value")
	case o.valued && o.name == "user", o.name == "subtype" && o.value == "jvsfs":
		return nil
	case g.refuse != "":
		return errors.New("cannot be had: " + g.refuse)
	}
	for _, key := range g.set {
		p.attributes[key] = "true"
	}
	for _, key := range g.clear {
		delete(p.attributes, key)
	}
	return nil
}

func (p *optionParser) file(o option) error {
	if !o.valued {
		return fmt.Errorf("wants a path: %s=FILE", keyFile)
	}
	path, err := parsePath(o.value, "")
	return assign(&p.opts.File, path, err)
}

// findOptionField finds a field by its key, or by its key in milliseconds. Then it also returns the
// unit to append to the value.
func findOptionField(key string) (*field, string) {
	if f := findField(key); f != nil {
		return f, ""
	}
	base, ok := strings.CutSuffix(key, suffixMillis)
	if f := findField(base); ok && f != nil && f.kind == kindDuration {
		return f, "ms"
	}
	return nil, ""
}

func isNumber(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

// set keeps the last value of each key, and all values of a list, in the order in which they came
// last.
func (o *Options) set(key, text string) {
	if f := findField(key); f == nil || f.clear == nil { // of a list each option is one item
		o.settings = slices.DeleteFunc(o.settings, func(s setting) bool { return s.key == key })
	}
	o.settings = append(o.settings, setting{key, text})
}

// String returns a list that means the same to ParseOptions. Options without effect, and overridden
// ones, are left out.
func (o Options) String() string {
	var items []string
	if o.File != "" {
		items = append(items, keyFile+"="+escapeOption(o.File))
	}
	for _, s := range o.settings {
		if slices.Contains(attributes, s.key) && s.text == "true" {
			items = append(items, s.key)
		} else {
			items = append(items, s.key+"="+escapeOption(s.text))
		}
	}
	return strings.Join(items, ",")
}

// apply sets the values. An error names the option.
func (o Options) apply(c *Config) error {
	var errs []error
	for _, s := range o.settings {
		errs = append(errs, c.Set(s.key, s.text, WhereOption))
	}
	return errors.Join(errs...)
}

// optionNames are the names to suggest after a typing error.
func optionNames() []string {
	names := []string{keyFile}
	for name := range generics {
		names = append(names, name)
	}
	for _, key := range fieldKeys() {
		if key != keyWorktrees {
			names = append(names, key)
		}
	}
	slices.Sort(names) // so that equally near names give the same suggestion each time
	return names
}
