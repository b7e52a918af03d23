package recovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// Finish detaches the mounts that cover the new mount after an interrupted recovery, unless another recovery
// has done it.
func (r *Recovery) Finish(ctx context.Context) error {
	lock, err := Lock(ctx)
	if err != nil {
		return err
	}
	defer host.CloseFile(lock)
	mounts, err := host.ReadMounts()
	if err != nil {
		return err
	}
	switch now, err := Find(ctx, mounts, r.Point); {
	case IsServed(err):
		return nil
	case err != nil:
		return err
	case now == nil || now.Live == nil:
		return fmt.Errorf("the mounts at %s have just changed: try again", r.Point)
	default:
		return now.uncover(func(error) {})
	}
}

// Unknown says what to run if no state was left.
func (r *Recovery) Unknown() *api.Failure {
	source := r.Dead[0].Source
	what := source
	if source != r.Point {
		what += " " + r.Point
	}
	return &api.Failure{Class: api.ClassNoMount, Message: fmt.Sprintf("nothing is known any more of the mount that was at %s", r.Point), File: host.StatePath(host.DeviceOf(r.Dead[0])),
		Next: fmt.Sprintf("run it again with the options that it had: jvsfs mount --recover %s", what)}
}

// IsServed reports whether a recovery was refused because the mount serves.
func IsServed(err error) bool {
	f := api.AsFailure(err)
	return f != nil && errors.Is(f.Err, errServed)
}

// errServed is the cause of refusing to recover a mount that is served.
var errServed = errors.New("served already")

// ServedNow reports whether the mount at a place serves, after any recovery.
func ServedNow(ctx context.Context, point string) bool {
	mounts, err := host.ReadMounts()
	if err != nil {
		return false
	}
	_, err = Find(ctx, mounts, point)
	return IsServed(err)
}

// Now looks again for the mount that is to be recovered at a place.
func Now(ctx context.Context, point string) (*Recovery, error) {
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil, err
	}
	r, err := Find(ctx, mounts, point)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, &api.Failure{Class: api.ClassNoMount, Message: fmt.Sprintf("the dead mount at %s has just gone", point), Next: "mount it: jvsfs mount"}
	case r.Live != nil:
		return nil, errors.Join(r.uncover(func(error) {}), &api.Failure{
			Class: api.ClassUsage, Message: point + " is served already; a dead mount that covered it was taken away", Next: "see jvsfs status",
		})
	}
	return r, nil
}
