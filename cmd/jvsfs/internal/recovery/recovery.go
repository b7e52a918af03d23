package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/lease"
)

// Recovery describes a mount point whose daemon is dead, and how to recover it.
//
// Nobody may reach the directory below meanwhile. So the dead mount, in which everything fails, stays on top
// until the new mount is beneath it and has its leases. Then the dead one is detached, and at the same moment
// the path leads to the new one.
type Recovery struct {
	Point  string
	Serves bool              // the mount is not dead: it is to be replaced
	Lock   *os.File          // keeps other recoveries away, nil until it is taken
	Dead   []*mountinfo.Info // the topmost first; more than one after an interrupted recovery
	Live   *mountinfo.Info   // a serving mount below them: it only has to be uncovered
	State  *host.MountState  // of the daemon that ended last, nil if nothing is known
	Left   api.Device        // the device of that state
}

// goneWait bounds the wait until a killed daemon has ended with all its threads.
const goneWait = 10 * time.Second

// Find looks for a mount to recover at the mount point; nil if there is no jvsfs mount. It fails if a recovery
// would be wrong: the daemon lives, or others have mounted something inside.
func Find(ctx context.Context, mounts host.MountTable, point string) (*Recovery, error) {
	r := &Recovery{Point: point}
	for _, m := range mounts.StackAt(point) {
		st, err := livenessOf(ctx, m)
		switch {
		case err != nil:
			return nil, err
		case st == mountServes && len(r.Dead) == 0:
			return nil, &api.Failure{Class: api.ClassUsage, Message: point + " is served already", Next: "nothing is to be done; jvsfs status shows it", Err: errServed}
		case st == mountServes:
			r.Live = m
		case m.Root != "/":
			return nil, bindOfDead(m)
		}
		if r.Live != nil {
			break
		}
		r.Dead = append(r.Dead, m)
	}
	if len(r.Dead) == 0 {
		return nil, nil
	}
	if err := r.unencumbered(mounts); err != nil {
		return nil, err
	}
	r.readState()
	return r, nil
}

func bindOfDead(m *mountinfo.Info) *api.Failure {
	return &api.Failure{Class: api.ClassNoMount, Message: fmt.Sprintf("%s is a bind mount of a part (%s) of a dead jvsfs mount", m.Mountpoint, m.Root),
		Next: fmt.Sprintf("recover the mount itself; then jvsfs umount --bare %s, and bind it again", m.Mountpoint)}
}

// unencumbered refuses if others have mounted something inside of a dead mount: it would vanish with the mount.
func (r *Recovery) unencumbered(mounts host.MountTable) error {
	var inside []string
	for _, m := range mounts {
		for _, dead := range r.Dead {
			if m.Parent == dead.ID && !r.has(m.ID) {
				inside = append(inside, m.Mountpoint)
			}
		}
	}
	if len(inside) == 0 {
		return nil
	}
	return &api.Failure{Class: api.ClassBusy, Message: fmt.Sprintf("other file systems are mounted inside of the dead mount at %s: %s", r.Point, strings.Join(inside, ", ")),
		Next: "unmount them (umount -l where umount fails), then recover; mount them again afterwards"}
}

// has reports whether a mount is one of the dead ones.
func (r *Recovery) has(id int) bool {
	return slices.ContainsFunc(r.Dead, func(m *mountinfo.Info) bool { return m.ID == id })
}

// CopiesLeft are the places where a copy of a dead mount is left after the recovery, because mounts do not
// propagate to there.
func (r *Recovery) CopiesLeft(before host.MountTable) []string {
	now, err := host.ReadMounts()
	if err != nil {
		return nil // they are a note for people
	}
	var out []string
	for _, m := range before.JVSFS() {
		is := now.ByID(m.ID)
		if is == nil || r.has(m.ID) || host.DeviceOf(is) != host.DeviceOf(m) {
			continue
		}
		if slices.ContainsFunc(r.Dead, func(dead *mountinfo.Info) bool { return host.DeviceOf(dead) == host.DeviceOf(m) }) {
			out = append(out, m.Mountpoint)
		}
	}
	return out
}

// readState finds the state that the latest daemon here has left.
func (r *Recovery) readState() {
	for _, m := range r.Dead {
		st, err := host.ReadMountState(host.DeviceOf(m))
		if err == nil && st.Mountpoint == r.Point && (r.State == nil || st.Since.After(r.State.Since)) {
			r.State, r.Left = st, host.DeviceOf(m)
		}
	}
}

// mountLiveness is what is known of the daemon of a mount.
type mountLiveness int

const (
	mountDead mountLiveness = iota
	mountServes
)

// livenessOf asks the daemon of a mount. It is an error if the socket accepts and the daemon does not answer:
// it is stopped or stuck, not dead, and may still finish what it has begun.
func livenessOf(ctx context.Context, m *mountinfo.Info) (mountLiveness, error) {
	short, cancel := context.WithTimeout(ctx, client.StatusTimeout)
	defer cancel()
	err := client.Ping(short, m)
	switch {
	case err == nil, client.IsAnswer(err):
		return mountServes, nil
	case ctx.Err() != nil:
		return mountDead, ctx.Err()
	case errors.Is(err, os.ErrPermission), client.IsUnseen(err):
		return mountDead, err
	case client.NobodyThere(err): // also if it hung up in the middle of the answer: it ends
		return mountDead, nil
	}
	return mountDead, &api.Failure{Class: api.ClassNoMount, Err: err,
		Message: fmt.Sprintf("the daemon of the mount at %s does not answer, but it has not ended: what it has begun it may still finish", m.Mountpoint),
		Next:    "resume it (kill -CONT), or end it (kill -KILL), then recover"}
}

// AwaitEnd waits until the daemon of a dead mount, the topmost at its place, has ended with all its threads,
// and the kernel confirms it. Then nothing of that daemon is in flight.
func AwaitEnd(ctx context.Context, m *mountinfo.Info) error {
	ctx, cancel := context.WithTimeout(ctx, goneWait)
	defer cancel()
	if st, err := host.ReadMountState(host.DeviceOf(m)); err == nil && st.Daemon.Liveness() != lease.Unknown {
		return awaitGone(ctx, st.Daemon)
	}
	return probeDead(ctx, m) // nothing is known of it, or it was in a pid namespace that is not seen here
}

// probeDead proves that a mount is dead if nothing is known of its daemon.
func probeDead(ctx context.Context, m *mountinfo.Info) error {
	state, err := client.ConnectionOf(ctx, m)
	if state == client.ConnectionGone {
		return nil
	}
	if state == client.ConnectionUnknown && err != nil {
		return err
	}
	return &api.Failure{Class: api.ClassNoMount, Err: err,
		Message: fmt.Sprintf("the mount at %s has no control socket, but somebody serves it or keeps it: it is not dead (%v)", m.Mountpoint, err),
		Next:    "end its daemon, then recover"}
}

// awaitGone waits for the end of a process, by condition.
func awaitGone(ctx context.Context, p host.ProcessState) error {
	for p.Liveness() != lease.Gone {
		select {
		case <-ctx.Done():
			return &api.Failure{Class: api.ClassNoMount, Message: fmt.Sprintf("process %d, the daemon of the dead mount, has not ended", p.PID),
				Next: fmt.Sprintf("end it (kill -KILL %d), then recover", p.PID)}
		case <-time.After(2 * time.Millisecond):
		}
	}
	return nil
}

// recoverLock is the file that recoveries lock. Only root can open it. Anybody who can open a file can flock
// it, and so could block every recovery.
const recoverLock = "recover.lock"

// Lock excludes other recoveries on this machine until the lock is closed.
func Lock(ctx context.Context) (*os.File, error) {
	if err := host.PrepareSocketDir(host.SocketDir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(host.SocketDir, recoverLock), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, goneWait)
	defer cancel()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		select {
		case <-ctx.Done():
			host.CloseFile(f)
			return nil, &api.Failure{Class: api.ClassBusy, Message: "another recovery is under way", Next: "wait for it: jvsfs status", Err: err}
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Unlock lets other recoveries continue.
func (r *Recovery) Unlock() {
	if r != nil {
		host.CloseFile(r.Lock)
		r.Lock = nil
	}
}

// uncover finishes a recovery that ended before its last step: the new mount serves, and
// the dead one still covers it.
func (r *Recovery) uncover(warn func(error)) error {
	for _, m := range r.Dead {
		if err := r.TakeAway(m, warn); err != nil {
			return err
		}
	}
	return nil
}

// TakeAway detaches a dead mount that is the topmost at the place: exactly this one, and only if others have
// mounted nothing in it.
func (r *Recovery) TakeAway(dead *mountinfo.Info, warn func(error)) error {
	mounts, err := host.ReadMounts()
	if err != nil {
		return err
	}
	top := mounts.ByID(dead.ID) // another mount may have the number by now
	if top == nil || top.Mountpoint != r.Point || host.DeviceOf(top) != host.DeviceOf(dead) {
		return fmt.Errorf("the dead mount at %s has just gone: try again", r.Point)
	}
	if err := r.unencumbered(mounts); err != nil {
		return err
	}
	m, err := host.HoldMount(top)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := m.Detach(); err != nil {
		return err
	}
	// The files go last. A kill in between then leaves useless files, and not a serving daemon that cannot be
	// asked. m keeps the device number, so that these cannot be the files of another mount.
	if err := r.forget(host.DeviceOf(top)); err != nil {
		warn(err)
	}
	return nil
}

// forget removes the state of a mount that was detached. A replaced daemon continues to serve copies, and can
// be asked until it ends.
func (r *Recovery) forget(d api.Device) error {
	if mounts, err := host.ReadMounts(); r.Serves && err == nil && mounts.Has(d) {
		return host.RemoveAll(host.LeasesPath(d))
	}
	return host.ForgetMount(d)
}

// Heir reports whether a new mount of p may continue the leases of the mount that ended: it must have the same
// worktrees and the same records.
func Heir(st *host.MountState, p place.Place) bool {
	return st.Source == p.Root && st.Locks == p.LockDir
}

// FindServing is the mount to be replaced: it serves, is alone at its place, and others have mounted nothing
// inside.
func FindServing(ctx context.Context, mounts host.MountTable, point string) (*Recovery, error) {
	stack := mounts.StackAt(point)
	if len(stack) == 0 {
		return nil, &api.Failure{Class: api.ClassNoMount, Message: "there is no jvsfs mount to replace at " + point, Next: "mount without --replace"}
	}
	st, err := livenessOf(ctx, stack[0])
	switch {
	case err != nil:
		return nil, err
	case st != mountServes:
		return nil, &api.Failure{Class: api.ClassNoMount, Message: "the mount at " + point + " is dead", Next: "jvsfs recover " + point}
	case len(stack) > 1 || stack[0].Root != "/":
		return nil, &api.Failure{Class: api.ClassUsage, Message: point + " is a bind mount, or covers another jvsfs mount", Next: "replace the mount itself; see jvsfs status"}
	}
	r := &Recovery{Point: point, Dead: stack, Serves: true}
	if err := r.unencumbered(mounts); err != nil {
		return nil, err
	}
	if r.readState(); r.State == nil {
		return nil, &api.Failure{Class: api.ClassNoMount, Message: "the running daemon is of a release that cannot be replaced", Next: "jvsfs umount, then mount"}
	}
	return r, nil
}
