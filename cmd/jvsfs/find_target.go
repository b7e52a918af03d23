package main

import (
	"context"

	"github.com/moby/sys/mountinfo"
)

// target is what WORKTREE or PATH on a command line turned out to be: a path on a
// mount that has a daemon, or else the records of a worktree.
type target struct {
	path  string          // as it was resolved
	mount *mountinfo.Info // nil: no mount serves it
	rel   string          // below the root of the mount
	place place           // without a mount
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
