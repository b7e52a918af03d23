package main

import (
	"github.com/spf13/pflag"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// records are the flags for a worktree that no mount serves: where its records are, and under which policy they
// are written.
type records struct {
	control string
	config  string
}

func (r *records) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&r.control, "control", "", "without a mount: the lease records are in `DIR`")
	fs.StringVar(&r.config, "config", "", "without a mount: read policy, control directory and fence agent from `FILE`")
}

// load gives the lock directory ("" for the usual one) and the terms of leases.
func (r *records) load() (string, lockop.Terms, error) {
	cfg, err := mountcfg.Resolve(r.config, nil)
	if err != nil {
		return "", lockop.Terms{}, api.UsageError(err)
	}
	if r.control != "" {
		if err := cfg.Set("control", r.control, mountcfg.WhereFlag); err != nil {
			return "", lockop.Terms{}, api.UsageError(err)
		}
	}
	return cfg.Control, lockop.Terms{Policy: lockop.PolicyOf(cfg), Fence: cfg.Fence, NoFence: mayFence(cfg)}, nil
}
