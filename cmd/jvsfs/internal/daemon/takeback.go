package daemon

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// leftovers gives back what former lives of this host have left on a store of several hosts (rule 18): an unreleased lease would have
// the next taker on another host cut this host off. They are looked for once, when the mount serves. All are watched at the same time,
// and taken back one after the other. When none is left nothing wakes any more.
type leftovers struct {
	locks     *lease.Dir
	lockDir   string // its path
	policy    record.Policy
	authority func(*lease.Store) lease.Authority
	audit     *auditChain
	log       *zap.Logger

	own    lease.Holder
	cutOff *lease.CutOff
	left   []*leftover
}

// leftover is one lease that may have been left. Its keeper is not that of the worktree: it has no fence, and ends with it.
type leftover struct {
	id     lease.WorktreeID
	keeper *lease.Keeper
	seen   lease.Head
	living time.Time // who holds it still by then, lives
	at     time.Time // of the next look
	failed int       // tries, one after the other
}

const (
	// leftPause is the least between two looks.
	leftPause = time.Second
	// leftPauses bounds the pause after failures, which doubles, in lengths of a lease.
	leftPauses = 16
)

// takeBack is the life of the leftovers. Who wants one meanwhile takes it as ever.
func (l *leftovers) takeBack(serving context.Context, resolver *gate.Resolver, agents *fenceAgents) {
	err := l.begin(resolver, agents)
	if err == nil {
		err = l.find(serving)
	}
	if err != nil {
		l.log.Warn("what this host had left is not given back", zap.Error(err))
		return
	}
	defer l.close()
	for len(l.left) > 0 {
		wait := time.NewTimer(max(time.Until(l.next()), leftPause))
		select {
		case <-serving.Done():
		case <-wait.C:
		}
		wait.Stop()
		l.left = slices.DeleteFunc(l.left, func(o *leftover) bool {
			over := serving.Err() == nil && !o.at.After(time.Now()) && l.look(serving, o)
			if over {
				l.end(o)
			}
			return over
		})
		if serving.Err() != nil {
			return
		}
	}
}

// begin says in whose name they are given back, and how another host is cut off.
func (l *leftovers) begin(resolver *gate.Resolver, agents *fenceAgents) (err error) {
	if l.own, err = resolver.HolderFor(os.Getpid(), gate.ScopeTree, "give back what this host had left"); err == nil {
		l.cutOff, err = agents.cutOff()
	}
	return err
}

// find sees each for the first time.
func (l *leftovers) find(serving context.Context) error {
	client := lockop.StoreClient(l.locks.FD())
	ids, err := l.locks.Unreleased()
	for _, id := range ids {
		if serving.Err() != nil {
			break
		}
		store := l.locks.Store(id)
		k := lease.NewKeeper(lease.KeeperConfig{
			Store: store, Authority: l.authority(store), Policy: l.policy, Clock: lease.SystemClock(),
			Audit: l.audit.event, AuditAll: l.audit.events, CutOff: l.cutOff, StoreClient: client,
		})
		o := &leftover{id: id, keeper: k}
		h, j := k.Observe()
		if !k.IsLeft(h) {
			l.end(o)
			continue
		}
		p := h.Record.Policy()
		o.seen, o.at = h, j.Until
		o.living = time.Now().Add(2 * (p.LeaseDuration + p.MaxClockSkew + p.StealGrace))
		l.left = append(l.left, o)
	}
	return err
}

// next is when the next one is due.
func (l *leftovers) next() time.Time {
	return slices.MinFunc(l.left, func(a, b *leftover) int { return a.at.Compare(b.at) }).at
}

// look looks at one that is due, and takes it back if it may. It is over when the lease is free or somebody else's.
func (l *leftovers) look(ctx context.Context, o *leftover) (over bool) {
	h, j := o.keeper.Observe()
	switch {
	case h.Unreadable != nil:
		l.later(o, h.Unreadable)
		return false
	case !o.keeper.IsLeft(h):
		return true
	case h.Token != o.seen.Token || h.Sum != o.seen.Sum:
		if h.Record.HolderID != l.own.ID() {
			return true // its holder lives, or another one came
		}
		o.seen = h // which could not be released
	}
	switch j.State {
	case lease.Stealable:
		return l.take(ctx, o)
	case lease.Held:
		if time.Now().After(o.living) {
			return true
		}
	}
	o.at = j.Until
	return false
}

func (l *leftovers) take(ctx context.Context, o *leftover) (over bool) {
	err := l.stoppedBeside()
	if err == nil {
		err = o.keeper.Reclaim(ctx, l.own, o.seen)
	}
	if err != nil {
		l.later(o, err)
		return false
	}
	l.log.Info("gave back a lease that this host had left", zap.String("worktree", string(o.id)),
		zap.Uint64("token", uint64(o.seen.Token)), zap.String("holder", o.seen.Record.HolderID))
	return true
}

// later tries again after a pause that grows.
func (l *leftovers) later(o *leftover, why error) {
	pause := l.policy.LeaseDuration * time.Duration(min(1<<min(o.failed, 10), leftPauses))
	o.at = time.Now().Add(pause)
	o.failed++
	l.log.Warn("what this host had left cannot be given back yet", zap.String("worktree", string(o.id)), zap.Duration("again_in", pause), zap.Error(why))
}

// stoppedBeside is an error if the daemon of another mount here with the same records is stopped: what is left may be its own, and a
// store that has lost its lock does not say so.
func (l *leftovers) stoppedBeside() error {
	mounts, err := host.ReadMounts()
	if err != nil {
		return err
	}
	for _, m := range mounts.JVSFS() {
		st, err := host.ReadMountState(host.DeviceOf(m))
		if err == nil && st.Locks == l.lockDir && st.Daemon.Liveness() == lease.Stopped {
			return fmt.Errorf("the daemon of %s, process %d, is stopped", m.Mountpoint, st.Daemon.PID)
		}
	}
	return nil
}

func (l *leftovers) end(o *leftover) {
	if err := o.keeper.Close(); err != nil {
		l.log.Warn("what this host had left", zap.String("worktree", string(o.id)), zap.Error(err))
	}
}

func (l *leftovers) close() {
	for _, o := range l.left {
		l.end(o)
	}
}
