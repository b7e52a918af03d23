package mount

import (
	"cmp"
	"context"
	"fmt"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// isMounted refuses a path that is on a jvsfs mount. A dead mount fences what lies below until it is recovered.
func isMounted(ctx context.Context, path string, on *mountinfo.Info) *api.Failure {
	f := &api.Failure{
		Class: api.ClassUsage, Message: fmt.Sprintf("%s is on the jvsfs mount at %s already", path, on.Mountpoint),
		Next: fmt.Sprintf("jvsfs status shows it; jvsfs umount %s takes it away", human.Typed(on.Mountpoint)),
	}
	ctx, cancel := context.WithTimeout(ctx, client.StatusTimeout)
	defer cancel()
	if state, err := client.ConnectionOf(ctx, on); err == nil && state == client.ConnectionGone {
		f.Message += ", whose daemon has ended"
		f.Next = "jvsfs recover " + human.Typed(on.Mountpoint)
		if host.IsOwnMount(on) {
			f.Next = fmt.Sprintf("jvsfs umount --bare %s, then mount it again", human.Typed(on.Mountpoint))
		}
	}
	return f
}

// resolvePaths follows symbolic links in source and mount point. It refuses a path on a jvsfs mount, unless
// that mount is to be recovered or replaced.
func (m *mountCommand) resolvePaths(ctx context.Context, cfg *mountcfg.Config, mounts host.MountTable) error {
	for _, path := range []*string{&cfg.Source, &cfg.Mountpoint} {
		if *path == "" {
			continue
		}
		resolved, on, err := host.Resolve(*path, mounts)
		if err != nil {
			return err
		}
		if (m.recover || m.replace) && host.IsJVSFS(on) && on.Mountpoint == resolved {
			if m.recovery, err = m.find(ctx, mounts, resolved); err != nil {
				return err
			}
			*path = resolved
			continue
		}
		if host.IsJVSFS(on) {
			return isMounted(ctx, *path, on)
		}
		*path = resolved
	}
	if cfg.Mountpoint == cfg.Source {
		cfg.Mountpoint = ""
	}
	if m.replace && m.recovery == nil {
		point := cmp.Or(cfg.Mountpoint, cfg.Source)
		return &api.Failure{Class: api.ClassUsage, Message: "there is no jvsfs mount to replace at " + point, Next: "mount it without --replace: jvsfs mount " + human.Typed(point)}
	}
	if m.recovery != nil && m.recovery.Point != cmp.Or(cfg.Mountpoint, cfg.Source) {
		return api.Usagef("%s is a dead jvsfs mount: recover that first (jvsfs recover %s)", m.recovery.Point, m.recovery.Point)
	}
	return nil
}
