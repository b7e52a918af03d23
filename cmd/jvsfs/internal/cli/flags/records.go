package flags

import (
	"github.com/spf13/pflag"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// Records are the flags for a worktree that no mount serves: where its records are, and under which policy they
// are written.
type Records struct {
	control string
	config  string
}

// AddFlags adds --control and --config.
func (r *Records) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&r.control, "control", "", "without a mount: the lease records are in `DIR`")
	fs.StringVar(&r.config, "config", "", "without a mount: read policy, control directory and fence agent from `FILE`")
}

// Load gives the lock directory ("" for the usual one) and the terms of leases.
func (r *Records) Load() (string, lockop.Terms, error) {
	cfg, err := mountcfg.Resolve(r.config, nil)
	if err != nil {
		return "", lockop.Terms{}, api.UsageError(err)
	}
	if r.control != "" {
		if err := cfg.Set("control", r.control, mountcfg.WhereFlag); err != nil {
			return "", lockop.Terms{}, api.UsageError(err)
		}
	}
	return cfg.Control, lockop.Terms{Policy: lockop.PolicyOf(cfg), Fence: cfg.Fence, NoFence: MayFence(cfg)}, nil
}
