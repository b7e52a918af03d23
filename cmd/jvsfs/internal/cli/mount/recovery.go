package mount

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// mount --recover is what a unit that is restarted runs, and what jvsfs recover starts.

func (m *mountCommand) addRecoverFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&m.recover, "recover", false, "restore a dead jvsfs mount at that place, with its leases; if there is none, mount")
	fs.BoolVar(&m.replace, "replace", false, "replace the daemon that serves there; open files stay with the old daemon until they are closed")
	fs.StringVar(&m.state, "state", "", "use the configuration that the daemon of `DEVICE` left")
	fs.IntVar(&m.tries, "successor", 0, "try again after a failure, as the successor number `N` of a daemon whose store came back")
	_ = fs.MarkHidden("state") // fails only for a flag that is none
	_ = fs.MarkHidden("successor")
}

// configuration is that of file and flags, or the one that a daemon left behind.
func (m *mountCommand) configuration(cmd *cobra.Command, args []string) (mountcfg.Config, error) {
	if m.state == "" {
		return m.settings.Resolve(cmd.Flags(), args)
	}
	d, err := api.ParseDevice(m.state)
	if err != nil {
		return mountcfg.Config{}, err
	}
	st, err := host.ReadMountState(d)
	if err != nil {
		return mountcfg.Config{}, err
	}
	return mountcfg.Restore(st.Config, host.StatePath(d), rules.Check)
}

// sayCopies names the bind mounts that a replacement does not reach.
func (m *mountCommand) sayCopies(before host.MountTable) {
	if !m.replace || m.recovery == nil {
		return
	}
	for _, c := range m.recovery.CopiesLeft(before) {
		console.Note(m.io)(fmt.Sprintf("%s is a copy (a bind mount) of the mount that was replaced: the old daemon serves it, until it is unmounted; bind it again", c))
	}
}

// sayLeftBehind names the processes whose working directory is in the mount that was replaced. It has no path any more, so getcwd(2) fails
// there, and with it most shells, git and node.
func (m *mountCommand) sayLeftBehind() {
	if !m.replace || m.recovery == nil {
		return
	}
	var in []api.BusyEntry
	for _, old := range m.recovery.Dead {
		for _, e := range host.WhoKeepsBusy(host.DeviceOf(old), os.Getpid()) {
			if e.Use == "cwd" {
				in = append(in, e)
			}
		}
	}
	if len(in) > 0 {
		console.Note(m.io)(`these processes stand in the mount that was replaced, which has no path any more; they must enter their directory again (cd "$PWD"):`)
		fmt.Fprint(m.io.Err, api.BusyText(in[:min(len(in), ShownStanding)], human.Columns(m.io.Err)))
	}
}

// sayLocks warns that file locks do not hold between the old daemon and the new one if one of the two leaves
// them to the kernel.
func (m *mountCommand) sayLocks(now mountcfg.Config) {
	if !m.replace || m.recovery == nil || m.recovery.State == nil {
		return
	}
	was, err := mountcfg.Restore(m.recovery.State.Config, m.recovery.Point)
	if now.FileLocks == "mount" || err != nil || was.FileLocks == "mount" {
		console.Note(m.io)("file_locks is mount: until the files that are open through the old daemon are closed, file locks taken through them do not hold against anybody else")
	}
}

// replacedRules are those of the daemon that is to be replaced, and nil if none is.
func (m *mountCommand) replacedRules() *lockfile.Rules {
	if !m.replace || m.recovery == nil || m.recovery.State == nil {
		return nil
	}
	was, err := mountcfg.Restore(m.recovery.State.Config, m.recovery.Point, rules.Check)
	if err != nil { // it is of another release
		return new(lockfile.Rules)
	}
	compiled, err := rules.Compile(was)
	if err != nil || compiled == nil {
		return new(lockfile.Rules)
	}
	return compiled
}

// layoutOf is the layout that is asked for. A mount that comes back keeps the one that it had,
// whatever its source has in its root just now: a restore may have moved main away.
func (m *mountCommand) layoutOf(cfg mountcfg.Config) layout.Name {
	if m.recovery != nil && m.recovery.State != nil && m.recovery.State.Layout != "" && cfg.Layout == string(layout.Auto) {
		return m.recovery.State.Layout
	}
	return layout.Name(cfg.Layout)
}

// sourceOf classifies the source, below the dead mount if there is one.
func (m *mountCommand) sourceOf(cfg mountcfg.Config) (p place.Place, err error) {
	err = m.below(func() (err error) {
		p, err = m.placeOf(cfg)
		return err
	})
	return p, err
}

// below calls f where no mount that is to be recovered or replaced covers the source.
func (m *mountCommand) below(f func() error) error {
	if m.recovery == nil {
		return f()
	}
	return host.Underneath(m.recovery.Point, f)
}

func (m *mountCommand) placeOf(cfg mountcfg.Config) (place.Place, error) {
	switch want := m.layoutOf(cfg); {
	case cfg.Repository == "":
	case want != layout.Auto && want != layout.Git:
		return place.Place{}, api.Usagef("--repository wants the layout git, not %s", want)
	default:
		return place.RepositoryIn(cfg.Source, cfg.Repository, cfg.Control)
	}
	return place.SourceAt(cfg.Source, cfg.Control, m.layoutOf(cfg))
}

// find looks for the mount that is to be recovered or replaced.
func (m *mountCommand) find(ctx context.Context, mounts host.MountTable, point string) (*recovery.Recovery, error) {
	if m.replace {
		return recovery.FindServing(ctx, mounts, point)
	}
	return recovery.Find(ctx, mounts, point)
}

// newDaemon wires the daemon. For a recovery it does so when the old daemon has ended for good.
func (m *mountCommand) newDaemon(ctx context.Context, cfg mountcfg.Config, p place.Place, out daemon.Outside) (*daemon.Daemon, error) {
	if m.recovery == nil {
		return daemon.New(cfg, p, out)
	}
	r, err := m.takeRecovery(ctx)
	if err != nil {
		return nil, err
	}
	if r.Serves && !recovery.Heir(r.State, p) {
		host.CloseFile(r.Lock)
		return nil, api.Usagef("%s serves %s with the records in %s: only that can take its place", r.Point, r.State.Source, r.State.Locks)
	}
	var d *daemon.Daemon
	err = host.Underneath(r.Point, func() (err error) {
		if err = storewatch.SameStore(r, p); err != nil { // before the directory of the records is made
			return err
		}
		d, err = daemon.New(cfg, p, out)
		return err
	})
	if err == nil {
		if err = d.OnSameStore(r); err != nil {
			err = errors.Join(err, d.Discard())
		}
	}
	if err != nil {
		host.CloseFile(r.Lock)
		return nil, err
	}
	d.TakeOver(r)
	return d, nil
}

// takeRecovery locks out other recoveries, looks again, and waits for the end of the old daemon.
func (m *mountCommand) takeRecovery(ctx context.Context) (*recovery.Recovery, error) {
	lock, err := recovery.Lock(ctx)
	if err != nil {
		return nil, err
	}
	r, err := m.now(ctx)
	if err != nil {
		host.CloseFile(lock)
		return nil, err
	}
	r.Lock = lock
	return r, nil
}

func (m *mountCommand) now(ctx context.Context) (*recovery.Recovery, error) {
	if m.replace {
		mounts, err := host.ReadMounts()
		if err != nil {
			return nil, err
		}
		return recovery.FindServing(ctx, mounts, m.recovery.Point)
	}
	r, err := recovery.Now(ctx, m.recovery.Point)
	if err != nil {
		return nil, err
	}
	return r, recovery.AwaitEnd(ctx, r.Dead[0])
}
