package flags

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// Settings are the flags that configure a mount.
type Settings struct {
	config  string
	Options []string
}

// AddFlags adds a flag for each setting, and --config and -o.
func (s *Settings) AddFlags(fs *pflag.FlagSet) {
	defaults := mountcfg.Default()
	defaults.AddFlags(fs)
	fs.StringVar(&s.config, "config", "", "read the configuration from `FILE` (YAML); options and flags win over it")
	fs.StringArrayVarP(&s.Options, "options", "o", nil, "mount `OPTIONS` as in fstab: nosuid, ro, config=FILE, or KEY=VALUE for every key of the file; flags win over them")
}

// Resolve is the configuration of the parsed flags fs and of the arguments SOURCE and MOUNTPOINT, which may
// both be missing.
func (s *Settings) Resolve(fs *pflag.FlagSet, args []string) (mountcfg.Config, error) {
	opts, err := mountcfg.ParseOptions(strings.Join(s.Options, ","))
	if err != nil {
		return mountcfg.Config{}, api.UsageError(err)
	}
	cfg, err := mountcfg.ResolveOptions(s.config, opts, fs, rules.Check)
	if err != nil {
		return cfg, api.UsageError(err)
	}
	for i, arg := range args {
		if err := cfg.Set([]string{"source", "mountpoint"}[i], arg, mountcfg.WhereArgument); err != nil {
			return cfg, api.UsageError(err)
		}
	}
	return cfg, nil
}
