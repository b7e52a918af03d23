package client

import (
	"cmp"
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
)

// Target is the meaning of WORKTREE or PATH on a command line: a path on a mount that has a daemon, or else the
// records of a worktree.
type Target struct {
	Path  string          // as it was resolved
	Mount *mountinfo.Info // nil: no mount serves it
	Rel   string          // below the root of the mount
	Place place.Place     // without a mount
}

// Find looks path up in the mount table, then for a mount elsewhere whose
// source has it, then for its records.
func Find(ctx context.Context, path, control string) (Target, error) {
	return find(ctx, path, control, host.ReadMounts)
}

// findTries is more often than anybody mounts and unmounts during a look.
const findTries = 8

// find starts over if something was mounted or unmounted over the path during the look. A directory that was seen through a mount
// that the table did not have yet would get records of its own, beside those of the mount.
func find(ctx context.Context, path, control string, read func() (host.MountTable, error)) (t Target, err error) {
	mounts, err := read()
	for range findTries {
		if err != nil {
			return Target{}, err
		}
		var looked error
		if t, looked = findIn(ctx, path, control, mounts); t.Mount != nil || t.Path == "" {
			return t, looked
		}
		before := mounts.At(t.Path)
		if mounts, err = read(); err == nil && sameMount(before, mounts.At(t.Path)) {
			return t, looked
		}
	}
	return Target{}, cmp.Or(err, error(&api.Failure{Class: api.ClassNoMount, Message: fmt.Sprintf("%s is mounted and unmounted again and again", path), Next: "try again"}))
}

func sameMount(a, b *mountinfo.Info) bool {
	return a == b || a != nil && b != nil && a.ID == b.ID
}

func findIn(ctx context.Context, path, control string, mounts host.MountTable) (Target, error) {
	abs, m, err := host.Resolve(path, mounts)
	if err != nil {
		return Target{}, err
	}
	if host.IsJVSFS(m) {
		if err := sayable(abs); err != nil {
			return Target{}, err
		}
		return Target{Path: abs, Mount: m, Rel: host.InMount(m, abs)}, nil
	}
	p, err := place.WorktreeOf(abs, control)
	t := Target{Path: abs, Place: p}
	if m := servedElsewhere(ctx, abs, mounts); m != nil && control == "" {
		if err := sayable(abs); err != nil {
			return Target{}, err
		}
		return Target{Path: abs, Mount: m, Rel: host.RelativeTo(m.Source, abs)}, nil
	}
	return t, err
}

// sayable refuses a path that a daemon cannot be asked about. Requests and answers are JSON, which has UTF-8 alone: each other byte would
// become U+FFFD, and that may be the name of another directory.
func sayable(path string) error {
	if utf8.ValidString(path) {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("%q is not UTF-8, so the daemon of the mount cannot be asked about it", path),
		Next: "give it another name; writing there takes its lease all the same, if the mount has on_free: acquire"}
}

// servedElsewhere finds a living mount at another place that serves path. The mount table has the source of
// each mount. Its daemon knows the holders.
func servedElsewhere(ctx context.Context, path string, mounts host.MountTable) *mountinfo.Info {
	for _, m := range mounts.JVSFS() {
		if !host.Within(m.Source, path) || host.Within(m.Mountpoint, path) {
			continue
		}
		c, err := Dial(ctx, m)
		if err != nil {
			continue // dead: only the records are left
		}
		c.Close()
		return m
	}
	return nil
}
