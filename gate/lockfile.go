package gate

import (
	"time"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// LockFile is the lock of another program that a guard follows, by its rule and its path below the source.
type LockFile struct {
	Rule, Path string
	Until      time.Time // the end of the maintenance window that is open there; zero: none is
}

// windowVerdicts are the verdicts while a maintenance window is open, where they differ.
var windowVerdicts = map[Reason]verdict{
	ReasonHeldByOther: {lease.ClassLockConflict,
		"a maintenance window is open here until {until}: only {holder} changes what rule {rule} protects", windowNext},
	ReasonLockHeld: {lease.ClassLockConflict,
		"a maintenance window is open here until {until}: only {holder} changes or takes the lock {lock} (rule {rule})", windowNext},
	ReasonLockBelow: {lease.ClassLockConflict,
		"a maintenance window of {holder} is open below this directory until {until} (rule {rule})", windowNext},
	reasonNobody: {lease.ClassLockConflict,
		"a maintenance window is open here until {until}, and the writer runs where this mount cannot tell who it is (another pid namespace)", windowNext},
	reasonHeldElsewhere: {lease.ClassLockConflict,
		"a maintenance window of rule {rule} is just being closed here", "try again"},
	reasonClosing: {lease.ClassLockConflict,
		"a maintenance window of rule {rule} is just being closed here", "try again"},
	reasonExpired: {lease.ClassLockExpired,
		"the time of the maintenance window of rule {rule} was over at {until}", windowAgain},
	reasonStaleHandle: {lease.ClassFencingMismatch,
		"this file was opened for writing in a maintenance window of rule {rule} that is over", windowAgain},
	ReasonFree: {lease.ClassLockNotHeld,
		"the maintenance window of rule {rule} is over", windowAgain},
}

const (
	windowNext  = "wait until it is closed: jvsfs rules close (its holder, or root)"
	windowAgain = "open another one: jvsfs rules open"
)

// lockVerdicts are the verdicts of guards that follow a lock file, where they differ from those of a lease.
var lockVerdicts = map[Reason]verdict{
	ReasonHeldByOther: {lease.ClassLockConflict,
		"this is guarded by rule {rule}, and its lock {lock} is held by {holder}",
		"wait until it gives the lock up, or ends"},
	reasonHeldElsewhere: {lease.ClassLockConflict,
		"this is guarded by rule {rule}, and its lock {lock} is left from a process that has ended or is not known",
		"take the lock as its program does, which may break a lock that was left"},
	ReasonFree: {lease.ClassLockNotHeld,
		"this is guarded by rule {rule}, and nobody holds its lock {lock}",
		"change it with the program that takes the lock"},
	reasonStaleHandle: {lease.ClassFencingMismatch,
		"this file was opened for writing under lock {lock} of rule {rule}, which has changed hands since",
		"close the file and open it again under the lock"},
	reasonObservedHandle: {lease.ClassFencingMismatch,
		"this file was opened for writing without lock {lock} of rule {rule}, while the mount only observed",
		"close the file, and open it again under the lock"},
	ReasonStaleMapping: {lease.ClassFencingMismatch,
		"an earlier holder of lock {lock} of rule {rule} still maps this file, so stores through mappings cannot be told apart",
		"end the earlier holder or unmap the file there, or write with write(2)"},
	reasonClosing: {lease.ClassLockConflict,
		"lock {lock} of rule {rule} is just changing hands",
		"try again"},
	reasonExpired: {lease.ClassLockExpired,
		"the time of a maintenance window for lock {lock} of rule {rule} is over", windowAgain},
	reasonRevokedStolen: {lease.ClassFencingMismatch,
		"lock {lock} of rule {rule} was taken from {holder}, which stays out until it takes it anew",
		"take the lock anew"},
	reasonNobody: {lease.ClassLockNotHeld,
		"the writer runs where this mount cannot tell who it is (another pid namespace), so it does not hold lock {lock} of rule {rule}",
		"write from the host"},
}

// verdict is what the refusal says.
func (r *Refusal) verdict() verdict {
	if r.Lock != nil && !r.Lock.Until.IsZero() {
		if v, ok := windowVerdicts[r.Reason]; ok {
			return v
		}
	}
	if r.Lock != nil {
		if v, ok := lockVerdicts[r.Reason]; ok {
			return v
		}
	}
	return verdicts[r.Reason]
}

// LockHolder is who holds a lock file that a caller has just taken. purpose is its program's name. The error says that
// the caller is not visible here.
func (r *Resolver) LockHolder(c process.Caller, as lockfile.Holder) (lease.Holder, error) {
	id, err := r.Identify(c)
	if err != nil {
		return lease.Holder{}, err
	}
	w := r.Cached(id.ID())
	if w == nil {
		st, err := process.ReadStat(id.PID)
		if err != nil {
			return lease.Holder{}, err
		}
		h, err := r.lockHolder(id, as)
		h.Purpose = shown(st.Comm, commandShown)
		return h, err
	}
	defer w.Done()
	st, err := w.Stat() // it may run another program since
	if err != nil {
		return lease.Holder{}, err
	}
	h, err := r.sameLockHolder(w, id, as)
	h.Purpose = shown(st.Comm, commandShown)
	return h, err
}

// madeFor is what the holder of a lock file depends on.
type madeFor struct {
	id process.Identity
	as lockfile.Holder
}

// sameLockHolder is the holder that was made for the same before, otherwise a new one.
func (r *Resolver) sameLockHolder(w *process.Cached, id process.Identity, as lockfile.Holder) (lease.Holder, error) {
	if as == lockfile.Parent { // that may have ended since
		return r.lockHolder(id, as)
	}
	made, err := w.Recall(madeFor{id, as}, func() (any, error) { return r.lockHolder(id, as) })
	return made.(lease.Holder), err
}

func (r *Resolver) lockHolder(id process.Identity, as lockfile.Holder) (lease.Holder, error) {
	switch as {
	case lockfile.Session:
		return r.autoHolder(id, ScopeSession)
	case lockfile.User:
		return r.autoHolder(id, ScopeUser)
	case lockfile.Parent:
		return r.HolderFor(id.PPID, ScopeTree, "")
	}
	return r.holderOf(id, ScopeTree, "")
}

// lockNow is the lock file of the guard with the maintenance window of now.
func (g *Guard) lockNow() *LockFile {
	if g.cfg.Until == nil {
		return g.cfg.Lock
	}
	until := g.cfg.Until()
	if until.IsZero() {
		return g.cfg.Lock
	}
	return &LockFile{Rule: g.cfg.Lock.Rule, Path: g.cfg.Lock.Path, Until: until}
}
