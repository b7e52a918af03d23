package mountcfg

import (
	"cmp"
	"slices"

	"github.com/spf13/pflag"
)

// Setting describes one key of the configuration, for documentation and completion.
type Setting struct {
	Key       string   // of the file
	Flag      string   // of the command line, without dashes; "" = none
	Value     string   // placeholder of the value, such as DIR
	Usage     string   // half a sentence
	Default   string   // in the form of the file; "" = not set
	Words     []string // the allowed values of a closed set; nil = any
	Millis    bool     // KEY_ms takes the same as a whole number of milliseconds
	Overrides bool     // a worktree may have its own value
}

// otherUsage describes the keys that have no flag: arguments, and options of mount(8).
var otherUsage = map[string]string{
	"source":      "the `DIR` to guard: a repository, one of its worktrees, or any directory",
	"mountpoint":  "mount at `DIR`; without it in place, over the source",
	"ro":          "mount read-only (`true|false`)",
	"nosuid":      "honour no setuid and setgid bits and no file capabilities (`true|false`)",
	"nodev":       "open no device nodes (`true|false`)",
	"noexec":      "execute no files (`true|false`)",
	"fence":       "cut a silent host off the store with the `PROGRAM` and its arguments, a list, before its lease is taken over (jvsfs-fence(7)); only in a file of root",
	"nosymfollow": "follow no symbolic links (`true|false`)",
}

// Settings lists every key of the top level in the order of the documentation. Worktrees is not in
// it: its entries are mappings of the keys that Overrides marks.
func Settings() []Setting {
	defaults := Default()
	out := make([]Setting, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		s := Setting{Key: f.key, Default: f.get(&defaults), Words: f.words, Millis: f.kind == kindDuration}
		if s.Default == "" && slices.Contains(s.Words, scopeDefault) {
			s.Default = scopeDefault
		}
		usage := f.usage
		if usage == "" {
			usage = otherUsage[f.key]
		} else {
			s.Flag = f.flag()
		}
		s.Value, s.Usage = pflag.UnquoteUsage(&pflag.Flag{Usage: usage, Value: &flagValue{field: f}})
		s.Value = cmp.Or(s.Value, "true|false") // a switch has no placeholder
		s.Overrides = slices.Contains(ruleKeys(), f.key)
		out = append(out, s)
	}
	return out
}
