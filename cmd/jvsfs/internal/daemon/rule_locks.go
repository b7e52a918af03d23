package daemon

import (
	"context"
	"errors"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// openBook opens what is known of the locks of other programs. Without rules the book is nil.
func (d *mount) openBook(rules *lockfile.Rules) error {
	if len(rules.All()) == 0 {
		return nil
	}
	source, err := unix.Open(d.place.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(source) }()
	if lease.SharedStore(source) {
		return &api.Failure{
			Class: api.ClassUsage, Message: "rules for lock files need a directory that no other host writes, and " + d.place.Root + " lies on a shared store",
			Next: "mount without rules",
		}
	}
	d.tenures, err = host.OpenTenures(source, d.joins)
	if errors.Is(err, host.ErrTenuresInUse) {
		return &api.Failure{
			Class: api.ClassUsage, Message: err.Error() + ": " + d.place.Root,
			Next: "jvsfs status lists the mounts; umount the other one, or replace it: jvsfs mount --replace", Err: err,
		}
	}
	if err != nil {
		return err
	}
	errno, err := gate.ParseErrno(d.cfg.Errno)
	if err != nil {
		return err
	}
	d.ruleTrail = newRuleTrail(d.place.ID, func(r audit.Record) error { return d.audit.Append(context.Background(), r) }, d.log)
	d.book = tenure.New(tenure.Config{
		Rules: rules, Worktree: d.place.ID, Enforcement: d.mode.Enforcement, Resolver: d.resolver, Exits: d.exits, Clock: lease.SystemClock(),
		Errno: errno, OnRefusal: d.registry.refused, OnEvent: d.lockEvent, Memory: d.tenures, Loans: d.tenures, Joins: d.joins,
	})
	return nil
}

// lockEvent logs what has happened to a lock file. Taking and giving up is what its program does all the time.
func (d *mount) lockEvent(e tenure.Event) {
	d.ruleTrail.note(e)
	d.events.NoteLock(e)
	if e.Window != nil {
		d.log.Info(string(e.Kind), zap.String("path", e.Window.Path), zap.Uint64("window", e.Number), zap.String("holder", e.Holder.ID()), zap.String("how", string(e.How)))
		return
	}
	fields := []zap.Field{
		zap.String("lock", e.Lock.ID()), zap.String("path", e.Lock.Path), zap.Uint64("tenure", e.Number), zap.String("holder", e.Holder.ID()),
	}
	if e.Err != nil {
		fields = append(fields, zap.Error(e.Err))
	}
	switch e.Kind {
	case tenure.Taken, tenure.Released:
		d.log.Debug(string(e.Kind), fields...)
	case tenure.Stays, tenure.Unseen, tenure.Bypassed:
		d.log.Warn(string(e.Kind), fields...)
	default:
		d.log.Info(string(e.Kind), append(fields, zap.Uint32("by", e.By.TID))...)
	}
}
