package mountcfg

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// AddFlags registers the flags of the mount on fs. They write into c, check their values when they
// are parsed, and show the values of c as defaults. To get the effective configuration, pass the
// parsed fs to Resolve.
func (c *Config) AddFlags(fs *pflag.FlagSet) {
	for i := range fields {
		f := &fields[i]
		if f.usage == "" {
			continue
		}
		flag := fs.VarPF(&flagValue{config: c, field: f}, f.flag(), "", f.usage)
		if f.kind == kindBool {
			flag.NoOptDefVal = "true"
		}
	}
}

// Resolve returns the effective configuration: defaults, then the file (none if configPath is ""),
// then the flags that were given. It validates the result. flags may be nil, and may have other
// flags, too.
func Resolve(configPath string, flags *pflag.FlagSet, checks ...RuleCheck) (Config, error) {
	return ResolveOptions(configPath, Options{}, flags, checks...)
}

// ResolveOptions is Resolve with mount options. They override the file, and flags override them.
// The file is that of configPath or of opts; two files are an error.
func ResolveOptions(configPath string, opts Options, flags *pflag.FlagSet, checks ...RuleCheck) (Config, error) {
	if configPath != "" && opts.File != "" {
		return Config{}, fmt.Errorf("two configuration files: %s, and %s by mount option", configPath, opts.File)
	}
	configPath = cmp.Or(configPath, opts.File)
	c := Default()
	if configPath != "" {
		var err error
		if c, err = loadFile(configPath, checks...); err != nil {
			return Config{}, err
		}
	}
	if err := opts.apply(&c); err != nil {
		return Config{}, err
	}
	if err := c.applyFlags(flags); err != nil {
		return Config{}, err
	}
	c.implyReadonly()
	err := c.Validate()
	if rank(c.where(keyRules)) > 1 { // those of the file were checked with it
		err = errors.Join(err, c.checkRules(checks))
	}
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

func (c *Config) applyFlags(flags *pflag.FlagSet) error {
	if flags == nil {
		return nil
	}
	for i := range fields {
		f := &fields[i]
		given := flags.Lookup(f.flag())
		if f.usage == "" || given == nil || !given.Changed {
			continue
		}
		for _, text := range textsOf(given.Value) {
			if err := c.Set(f.key, text, WhereFlag); err != nil {
				return err
			}
		}
	}
	return nil
}

// textsOf returns the values that a flag was set to: several for a list.
func textsOf(v pflag.Value) []string {
	f, ok := v.(*flagValue)
	switch {
	case ok && f.field.kind == kindRules:
		return f.config.ruleSources()
	case ok && f.field.list != nil:
		return *f.field.list(f.config)
	}
	return []string{v.String()}
}

// flagValue is one field as a flag. Its errors have no name and value: pflag writes both in front.
type flagValue struct {
	config *Config
	field  *field
}

func (v *flagValue) Set(text string) error {
	if v.field.clear != nil && v.config.where(v.field.key) != WhereFlag {
		v.field.clear(v.config)
	}
	if err := v.field.set(v.config, text, ""); err != nil {
		return err
	}
	v.config.remember(v.field.key, WhereFlag)
	return nil
}

// String is also called by pflag on a zero flagValue.
func (v *flagValue) String() string {
	if v.config == nil {
		return ""
	}
	return v.field.get(v.config)
}

// Type is shown only if a usage has no placeholder.
func (v *flagValue) Type() string {
	switch v.field.kind {
	case kindDuration:
		return "duration"
	case kindBool:
		return "bool"
	}
	return "string"
}
