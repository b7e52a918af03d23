package daemon

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/fusefs/transport"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
)

var caches = map[string]fusefs.Cache{"auto": fusefs.CacheAuto, "shared": fusefs.CacheShared, "exclusive": fusefs.CacheExclusive}

// layoutOf is which guard stands over what, before the source is read.
func layoutOf(p place.Place) (layout.Layout, error) {
	l, err := layout.New(p.Layout, p.ID)
	if err != nil {
		return l, err
	}
	if p.Git != nil {
		l = l.With(*p.Git)
	}
	return l.WithParts(p.Rules)
}

// openFileSystem opens the source for serving.
func (d *Daemon) openFileSystem() error {
	cfg, p := d.given.cfg, d.given.place
	errno, err := gate.ParseErrno(cfg.Errno)
	if err != nil {
		return err
	}
	o := fusefs.Options{
		Source: p.Root, Mountpoint: cfg.Mountpoint, Layout: d.given.layout,
		Guards: d.registry.Guard, Known: d.registry.Known, Log: d.log,
		Errno: errno, Enforcement: d.mode.Enforcement, Exempt: cfg.Exempts(),
		Cache: caches[cfg.Cache], CacheTimeout: cfg.CacheTimeout, Attributes: attributesOf(cfg),
		LocalLocks: cfg.FileLocks == "mount", LeaseForAll: cfg.OnFree == string(gate.DenyOnFree), Exits: d.has.exits, Off: d.given.out.Off,
		ByUser: host.ByUser(), Locks: d.has.ruleLocks.Book(), Transport: transport.Way(cfg.Transport),
		RelyOnFence: cfg.RelyOnFence,
	}
	if p.Shape == api.ShapeWorktree {
		o.Repository = p.Repo
	}
	o.OnRefusal = d.trail.NoteOutside
	d.has.fs, err = fusefs.Open(o)
	if errors.Is(err, fusefs.ErrExempt) {
		return &api.Failure{
			Class: api.ClassUsage, Message: err.Error(),
			Next: "mount without exempt", Err: err,
		}
	}
	return err
}

// attributesOf are the configured attributes of the mount.
func attributesOf(cfg mountcfg.Config) int {
	attrs := 0
	for _, a := range []struct {
		on   bool
		attr int
	}{
		{cfg.ReadOnly, unix.MOUNT_ATTR_RDONLY}, {cfg.NoSUID, unix.MOUNT_ATTR_NOSUID}, {cfg.NoDev, unix.MOUNT_ATTR_NODEV},
		{cfg.NoExec, unix.MOUNT_ATTR_NOEXEC}, {cfg.NoSymFollow, unix.MOUNT_ATTR_NOSYMFOLLOW},
	} {
		if a.on {
			attrs |= a.attr
		}
	}
	return attrs
}

// shareBorder makes sure that all mounts of a worktree agree whether they have exempt paths.
func shareBorder(fs *fusefs.Server, locks *lease.Dir) error {
	err := fs.ShareBorder(locks.FD())
	if errors.Is(err, fusefs.ErrMixed) {
		return &api.Failure{
			Class: api.ClassUsage, Message: err.Error(),
			Next: "jvsfs status lists the mounts; umount the other one, or give both --exempt", Err: err,
		}
	}
	return err
}
