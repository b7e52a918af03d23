package mount

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/background"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// followStore starts the daemon that serves a store which was mounted again, unless this one was told to end meanwhile. In the foreground,
// whoever has started this one does that.
func (m *mountCommand) followStore(ctx context.Context, ended error, cfg mountcfg.Config, p place.Place, d *daemon.Daemon) error {
	point := mountedOf(cfg, p).Mountpoint
	f := &api.Failure{Class: api.ClassStoreFailed, Err: ended, Message: fmt.Sprintf("the client of the store was started again at %s, so the mount at %s is dead now", p.Root, point),
		Next: "jvsfs recover " + human.Typed(point)}
	if !m.background || ctx.Err() != nil {
		return f
	}
	return errors.Join(f, background.StartSuccessor(cfg, d.Device(), 1))
}

// tryAgain starts the next successor, after a while, if this one has failed to serve and the dead mount is still there: another recovery was
// under way, or the store has ended again.
func (m *mountCommand) tryAgain(failed error) error {
	if m.tries == 0 || errors.Is(failed, context.Canceled) {
		return nil
	}
	dead, err := api.ParseDevice(m.state)
	if err != nil {
		return err
	}
	time.Sleep(min(time.Second<<min(m.tries, 6), time.Minute)) // a signal ends it
	mounts, err := host.ReadMounts()
	if err != nil || !mounts.Has(dead) {
		return err
	}
	st, err := host.ReadMountState(dead)
	if err != nil || st.Daemon.Liveness() != lease.Gone { // or it is another mount by now
		return err
	}
	cfg, err := mountcfg.Restore(st.Config, host.StatePath(dead), rules.Check)
	if err != nil {
		return err
	}
	return background.StartSuccessor(cfg, dead, m.tries+1)
}
