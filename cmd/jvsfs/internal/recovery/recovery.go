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

// Recovery is what lies at a mount point whose daemon is dead: how it comes back.
//
// Nobody may reach the directory below meanwhile. So the dead mount stays on top, where
// everything fails, until the new one has been put beneath it and has its leases; then the
// dead one is detached, and the path leads to the new one in the same instant.
type Recovery struct {
	Point  string
	Serves bool              // dead is not dead: it is to be replaced
	Lock   *os.File          // keeps other recoveries away, nil until it is taken
	Dead   []*mountinfo.Info // the uppermost first; more than one after an interrupted recovery
	Live   *mountinfo.Info   // a serving mount below them: all that is left to do is to uncover it
	State  *host.MountState  // of the daemon that ended last, nil if nothing is known
	Left   api.Device        // whose state it is
}

// goneWait bounds the wait for a killed daemon to be gone, with its last thread.
const goneWait = 10 * time.Second

// Find looks at what lies at the mount point; nil if there is no jvsfs mount. It
// fails where recovering would be wrong: a daemon that lives, or mounts of others.
func Find(ctx context.Context, mounts host.MountTable, point string) (*Recovery, error) {
	r := &Recovery{Point: point}
	for _, m := range mounts.StackAt(point) {
		st, err := livenessOf(ctx, m)
		switch {
		case err != nil:
			return nil, err
		case st == mountServes && len(r.Dead) == 0:
			return nil, &api.Failure{Class: api.ClassUsage, Message: point + " is served already", Next: "see jvsfs status", Err: errServed}
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

// unencumbered refuses when something of others is mounted inside of a dead mount: it would
// vanish with it.
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

// has tells whether a mount is one of the dead ones.
func (r *Recovery) has(id int) bool {
	return slices.ContainsFunc(r.Dead, func(m *mountinfo.Info) bool { return m.ID == id })
}

// CopiesLeft are the places where a dead mount was also mounted, and is still after the
// recovery: those that nothing is propagated to.
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

// readState finds what the latest daemon left behind that served here.
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

// livenessOf asks the daemon of a mount. One that does not answer although its socket does
// is stopped or stuck, not dead: what it has begun it may still finish. That is an error.
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
	case client.NobodyThere(err): // also one that hung up in the middle of the answer: it ends
		return mountDead, nil
	}
	return mountDead, &api.Failure{Class: api.ClassNoMount, Err: err,
		Message: fmt.Sprintf("the daemon of the mount at %s does not answer, but it has not ended: what it has begun it may still finish", m.Mountpoint),
		Next:    "resume it (kill -CONT), or end it (kill -KILL), then recover"}
}

// AwaitEnd waits until the daemon of a dead mount, the uppermost at its place, is gone with
// all its threads, and the kernel says so: then nothing of its own is under way.
func AwaitEnd(ctx context.Context, m *mountinfo.Info) error {
	ctx, cancel := context.WithTimeout(ctx, goneWait)
	defer cancel()
	if st, err := host.ReadMountState(host.DeviceOf(m)); err == nil && st.Daemon.Liveness() != lease.Unknown {
		return awaitGone(ctx, st.Daemon)
	}
	return probeDead(ctx, m) // nothing is known of it, or it was in a pid namespace that is not seen here
}

// probeDead proves that a mount is dead where nothing is known of its daemon.
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

// recoverLock is the name of the file that recoveries lock. It is root's alone: a flock takes
// no more than being able to open the file, and would keep every dead mount dead.
const recoverLock = "recover.lock"

// Lock keeps other recoveries of this machine away until the lock is closed.
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

// Unlock lets other recoveries go on.
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

// TakeAway detaches a dead mount that is the uppermost at the place: that very one, and only
// if it carries nothing of others.
func (r *Recovery) TakeAway(dead *mountinfo.Info, warn func(error)) error {
	mounts, err := host.ReadMounts()
	if err != nil {
		return err
	}
	top := mounts.ByID(dead.ID) // the number alone may be another mount's by now
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
	// Afterwards: whoever is killed in between leaves files that are of no use, and not a
	// daemon that serves on and cannot be asked. m keeps the device number from being given
	// to another mount, whose files these would then be.
	if err := r.forget(host.DeviceOf(top)); err != nil {
		warn(err)
	}
	return nil
}

// forget removes what is known of a mount that was taken away. A daemon that was replaced
// serves its copies on, and can be asked until it ends.
func (r *Recovery) forget(d api.Device) error {
	if mounts, err := host.ReadMounts(); r.Serves && err == nil && mounts.Has(d) {
		return host.RemoveAll(host.LeasesPath(d))
	}
	return host.ForgetMount(d)
}

// Heir reports whether a new mount of p may go on with the leases of the one that ended: it
// must be the same worktrees, by the same records.
func Heir(st *host.MountState, p place.Place) bool {
	return st.Source == p.Root && st.Locks == p.LockDir
}

// FindServing is the mount to be replaced: it serves, alone at its place, with nothing of others
// mounted inside.
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
