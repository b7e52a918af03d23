package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jvsfs/jvsfs/mountcfg"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
)

// mount --recover is what a unit that is restarted runs, and what jvsfs recover starts.

func (m *mountCommand) addRecoverFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&m.recover, "recover", false, "bring a dead jvsfs mount at that place back, with its leases; where there is none, mount")
	fs.BoolVar(&m.replace, "replace", false, "put this daemon in the place of the one that serves there: what is open goes on at the old one, until it is closed")
	fs.StringVar(&m.state, "state", "", "take the configuration from what the daemon of `DEVICE` left behind")
	_ = fs.MarkHidden("state") // fails only for a flag that is none
}

// configuration is that of file and flags, or the one that a daemon left behind.
func (m *mountCommand) configuration(cmd *cobra.Command, args []string) (mountcfg.Config, error) {
	if m.state == "" {
		return m.settings.resolve(cmd.Flags(), args)
	}
	d, err := parseDevice(m.state)
	if err != nil {
		return mountcfg.Config{}, err
	}
	st, err := readMountState(d)
	if err != nil {
		return mountcfg.Config{}, err
	}
	return mountcfg.Restore(st.Config, statePath(d))
}

func parseDevice(text string) (device, error) {
	var d device
	if _, err := fmt.Sscanf(text, "%d:%d", &d.Major, &d.Minor); err != nil || d.String() != text {
		return d, fmt.Errorf("%q is not a device", text)
	}
	return d, nil
}

// sayCopies names the places that a replacement does not reach.
func (m *mountCommand) sayCopies(before mountTable) {
	if !m.replace || m.recovery == nil {
		return
	}
	for _, c := range m.recovery.copiesLeft(before) {
		noteTo(m.io)(fmt.Sprintf("%s is a copy (a bind mount) of the mount that was replaced: the old daemon serves it, until it is unmounted; bind it again", c))
	}
}

// sayLocks says that locks do not hold between what goes on at the old daemon and the new
// one, where one of the two leaves them to the kernel.
func (m *mountCommand) sayLocks(now mountcfg.Config) {
	if !m.replace || m.recovery == nil || m.recovery.state == nil {
		return
	}
	was, err := mountcfg.Restore(m.recovery.state.Config, m.recovery.point)
	if now.FileLocks == "mount" || err != nil || was.FileLocks == "mount" {
		noteTo(m.io)("file_locks is mount: until the files that are open through the old daemon are closed, file locks taken through them do not hold against anybody else")
	}
}

// sourceOf classifies the source, below the dead mount if there is one.
func (m *mountCommand) sourceOf(cfg mountcfg.Config) (p place, err error) {
	if m.recovery == nil {
		return sourceAt(cfg.Source, cfg.Control)
	}
	err = underneath(m.recovery.point, func() (err error) {
		p, err = sourceAt(cfg.Source, cfg.Control)
		return err
	})
	return p, err
}

// find looks at what lies at the mount point, with what is asked for in mind.
func (m *mountCommand) find(ctx context.Context, mounts mountTable, point string) (*recovery, error) {
	if m.replace {
		return findServing(ctx, mounts, point)
	}
	return findRecovery(ctx, mounts, point)
}

// newDaemon wires the daemon; that of a recovery when the old one is gone for good.
func (m *mountCommand) newDaemon(ctx context.Context, cfg mountcfg.Config, p place, log *zap.Logger) (*daemon, error) {
	if m.recovery == nil {
		return newDaemon(cfg, p, log)
	}
	r, err := m.takeRecovery(ctx)
	if err != nil {
		return nil, err
	}
	if r.serves && !r.state.heir(p) {
		closeFile(r.lock)
		return nil, usagef("%s serves %s with the records in %s: only that can take its place", r.point, r.state.Source, r.state.Locks)
	}
	var d *daemon
	err = underneath(r.point, func() (err error) {
		d, err = newDaemon(cfg, p, log)
		return err
	})
	if err != nil {
		closeFile(r.lock)
		return nil, err
	}
	d.recovery = r
	if r.serves {
		d.replaced = r.state
	} else {
		d.inherit(r)
	}
	return d, nil
}

// takeRecovery looks again, with all other recoveries kept away, and waits for the end of the
// old daemon.
func (m *mountCommand) takeRecovery(ctx context.Context) (*recovery, error) {
	lock, err := lockRecoveries(ctx)
	if err != nil {
		return nil, err
	}
	r, err := m.now(ctx)
	if err != nil {
		closeFile(lock)
		return nil, err
	}
	r.lock = lock
	return r, nil
}

func (m *mountCommand) now(ctx context.Context) (*recovery, error) {
	if m.replace {
		mounts, err := readMounts()
		if err != nil {
			return nil, err
		}
		return findServing(ctx, mounts, m.recovery.point)
	}
	r, err := recoveryNow(ctx, m.recovery.point)
	if err != nil {
		return nil, err
	}
	return r, awaitEnd(ctx, r.dead[0])
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
