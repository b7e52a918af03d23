package rulelocks

import (
	"context"
	"errors"
	"sync"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// Paths are what is asked about paths of the mount.
type Paths interface {
	Mountpoint() string
	Below(rel string) string // a path below the source, through the mount
	IsDir(rel string) bool
}

// Config is what the locks of rules need of a mount.
type Config struct {
	Rules  *lockfile.Rules
	Source string // the directory that is mounted
	Joins  bool   // the mount replaces one that has rules
	Errno  string // of refusals, as it is configured

	Worktree    lease.WorktreeID // in whose name is audited
	IsPart      func(lease.WorktreeID) bool
	Enforcement *gate.Enforcement
	Resolver    *gate.Resolver
	Exits       *process.ExitWatch

	Paths     Paths
	OnRefusal func(*gate.Refusal)
	OnEvent   func(tenure.Event)       // besides the log and the audit chain; must not block
	Audit     func(audit.Record) error // may wait
	Log       *zap.Logger
}

// Locks are the locks of other programs that a mount knows by its rules. Safe for concurrent use.
type Locks struct {
	Config
	book    *tenure.Book  // nil without rules
	trail   *trail        // with book
	tenures *host.Tenures // what a daemon after this one needs of it
}

// Open opens what is known of the locks of other programs.
func Open(c Config) (*Locks, error) {
	d := &Locks{Config: c}
	if len(c.Rules.All()) == 0 {
		return d, nil
	}
	source, err := unix.Open(c.Source, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return d, err
	}
	defer func() { _ = unix.Close(source) }()
	if lease.SharedStore(source) {
		return d, &api.Failure{
			Class: api.ClassUsage, Message: "rules for lock files need a directory that no other host writes, and " + c.Source + " lies on a shared store",
			Next: "mount without rules",
		}
	}
	d.tenures, err = host.OpenTenures(source, c.Joins)
	if errors.Is(err, host.ErrTenuresInUse) {
		return d, &api.Failure{
			Class: api.ClassUsage, Message: err.Error() + ": " + c.Source,
			Next: "jvsfs status lists the mounts; umount the other one, or replace it: jvsfs mount --replace", Err: err,
		}
	}
	if err != nil {
		return d, err
	}
	errno, err := gate.ParseErrno(c.Errno)
	if err != nil {
		return d, err
	}
	d.trail = newTrail(c.Worktree, c.Audit, c.Log)
	d.book = tenure.New(tenure.Config{
		Rules: c.Rules, Worktree: c.Worktree, Enforcement: c.Enforcement, Resolver: c.Resolver, Exits: c.Exits, Clock: lease.SystemClock(),
		Errno: errno, OnRefusal: c.OnRefusal, OnEvent: d.lockEvent, Memory: d.tenures, Loans: d.tenures, Joins: c.Joins,
	})
	return d, nil
}

// Book is what is known of the locks; nil without rules.
func (d *Locks) Book() *tenure.Book { return d.book }

// Tenures are what a daemon after this one needs; nil without rules.
func (d *Locks) Tenures() *host.Tenures { return d.tenures }

// Run watches the holders and writes the audit, until ctx ends.
func (d *Locks) Run(ctx context.Context) {
	if d.book == nil {
		return
	}
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { _ = d.book.Run(ctx) }) // which ends with ctx
	d.trail.run(ctx)
}

// lockEvent logs what has happened to a lock file. Taking and giving up is what its program does all the time.
func (d *Locks) lockEvent(e tenure.Event) {
	d.trail.note(e)
	d.OnEvent(e)
	if e.Window != nil {
		d.Log.Info(string(e.Kind), zap.String("path", e.Window.Path), zap.Uint64("window", e.Number), zap.String("holder", e.Holder.ID()), zap.String("how", string(e.How)))
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
		d.Log.Debug(string(e.Kind), fields...)
	case tenure.Stays, tenure.Unseen, tenure.Bypassed:
		d.Log.Warn(string(e.Kind), fields...)
	default:
		d.Log.Info(string(e.Kind), append(fields, zap.Uint32("by", e.By.TID))...)
	}
}
