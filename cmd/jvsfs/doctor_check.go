package main

import (
	"context"

	"github.com/jvsfs/jvsfs/lease"
)

// checkAll looks at the machine, at every mount, and at the records of paths. control is
// the lock directory of those, "" for the usual one.
func checkAll(ctx context.Context, paths []string, control string, policy lease.Policy, fix repair) ([]finding, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	all := append(checkMachine(policy), checkMounts(ctx, mounts, fix)...)
	all = append(all, checkTrees()...)
	var locks []lockDir
	for _, path := range paths {
		p, found, err := placeOf(path, control, mounts)
		if err != nil {
			return nil, err
		}
		if found {
			all = append(all, checkTree(p, fix)...)
			locks = append(locks, lockDir{path: p.LockDir, name: p.LockDir})
		}
	}
	return append(all, checkLockDirs(ctx, locks, policy, fix)...), nil
}

// checkMachine looks at what is the same for all mounts.
func checkMachine(policy lease.Policy) []finding {
	all := checkKernel()
	all = append(all, limitFindings(gatherLimits())...)
	all = append(all, checkClock(policy.MaxClockSkew)...)
	return append(all, configFindings(configDir)...)
}

// placeOf finds what a path is that is not mounted; what is mounted checkMounts looks at.
func placeOf(path, control string, mounts mountTable) (p place, found bool, err error) {
	abs, m, err := resolve(path, mounts)
	if err != nil || isJVSFS(m) {
		return p, false, err
	}
	if p, err = sourceAt(abs, control); err != nil {
		p, err = worktreeOf(abs, control)
	}
	return p, err == nil, err
}
