package main

import (
	"context"
	"errors"
	"fmt"
)

// finish takes away what covers the new mount after an interrupted recovery, unless the one
// that is under way has done it.
func (r *recovery) finish(ctx context.Context) error {
	lock, err := lockRecoveries(ctx)
	if err != nil {
		return err
	}
	defer closeFile(lock)
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	switch now, err := findRecovery(ctx, mounts, r.point); {
	case isServed(err):
		return nil
	case err != nil:
		return err
	case now == nil || now.live == nil:
		return fmt.Errorf("the mounts at %s have just changed: try again", r.point)
	default:
		return now.uncover(func(error) {})
	}
}

// unknown says what to run where nothing was left that could be.
func (r *recovery) unknown() *failure {
	source := r.dead[0].Source
	what := source
	if source != r.point {
		what += " " + r.point
	}
	return &failure{Class: classNoMount, Message: fmt.Sprintf("what was mounted at %s, and how, is not known any more", r.point), File: statePath(deviceOf(r.dead[0])),
		Next: fmt.Sprintf("run it again with the options that it had: jvsfs mount --recover %s", what)}
}

func isServed(err error) bool {
	f := asFailure(err)
	return f != nil && errors.Is(f.err, errServed)
}

// errServed is the cause of refusing to recover what lives.
var errServed = errors.New("served already")

// servedNow reports whether the mount at a place serves, by whatever recovery.
func servedNow(ctx context.Context, point string) bool {
	mounts, err := readMounts()
	if err != nil {
		return false
	}
	_, err = findRecovery(ctx, mounts, point)
	return isServed(err)
}

func recoveryNow(ctx context.Context, point string) (*recovery, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	r, err := findRecovery(ctx, mounts, point)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, &failure{Class: classNoMount, Message: fmt.Sprintf("the dead mount at %s has just gone", point), Next: "mount it: jvsfs mount"}
	case r.live != nil:
		return nil, errors.Join(r.uncover(func(error) {}), &failure{
			Class: classUsage, Message: point + " is served already; a dead mount that covered it was taken away", Next: "see jvsfs status",
		})
	}
	return r, nil
}
