package main

import (
	"context"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
	"github.com/moby/sys/mountinfo"
	"github.com/spf13/pflag"
)

// target is what WORKTREE or PATH on a command line turned out to be: a path on a
// mount that has a daemon, or else the records of a worktree.
type target struct {
	path  string          // as it was resolved
	mount *mountinfo.Info // nil: no mount serves it
	rel   string          // below the root of the mount
	place place           // without a mount
}

// records are the flags that say where the records of a worktree are that no
// mount serves, and under which policy they are written.
type records struct {
	control string
	config  string
}

func (r *records) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&r.control, "control", "", "without a mount: the lease records live in `DIR`")
	fs.StringVar(&r.config, "config", "", "without a mount: take policy and control directory from `FILE`")
}

// load gives the lock directory ("" for the usual one) and the policy.
func (r *records) load() (string, lease.Policy, error) {
	cfg, err := mountcfg.Resolve(r.config, nil)
	if err != nil {
		return "", lease.Policy{}, usageError(err)
	}
	if r.control != "" {
		if err := cfg.Set("control", r.control, mountcfg.WhereFlag); err != nil {
			return "", lease.Policy{}, usageError(err)
		}
	}
	return cfg.Control, policyOf(cfg), nil
}

// findTarget looks path up in the mount table, then for a mount elsewhere whose
// source has it, then for its records.
func findTarget(ctx context.Context, path, control string) (target, error) {
	mounts, err := readMounts()
	if err != nil {
		return target{}, err
	}
	abs, m, err := resolve(path, mounts)
	if err != nil {
		return target{}, err
	}
	if isJVSFS(m) {
		return target{path: abs, mount: m, rel: inMount(m, abs)}, nil
	}
	p, err := worktreeOf(abs, control)
	t := target{path: abs, place: p}
	if m := servedElsewhere(ctx, abs, mounts); m != nil && control == "" {
		return target{path: abs, mount: m, rel: relativeTo(m.Source, abs)}, nil
	}
	return t, err
}

// servedElsewhere finds a living mount at another place that serves path: the
// kernel's table has the source of each. Its daemon knows who holds what.
func servedElsewhere(ctx context.Context, path string, mounts mountTable) *mountinfo.Info {
	for _, m := range mounts.jvsfs() {
		if !within(m.Source, path) || within(m.Mountpoint, path) {
			continue
		}
		c, err := dial(ctx, m)
		if err != nil {
			continue // dead: the records are what there is
		}
		c.close()
		return m
	}
	return nil
}
