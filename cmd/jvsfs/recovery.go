package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// recovery is what lies at a mount point whose daemon is dead: how it comes back.
//
// Nobody may reach the directory below meanwhile. So the dead mount stays on top, where
// everything fails, until the new one has been put beneath it and has its leases; then the
// dead one is detached, and the path leads to the new one in the same instant.
type recovery struct {
	point  string
	serves bool              // dead is not dead: it is to be replaced
	lock   *os.File          // keeps other recoveries away, nil until it is taken
	dead   []*mountinfo.Info // the uppermost first; more than one after an interrupted recovery
	live   *mountinfo.Info   // a serving mount below them: all that is left to do is to uncover it
	state  *mountState       // of the daemon that ended last, nil if nothing is known
	left   device            // whose state it is
}

// goneWait bounds the wait for a killed daemon to be gone, with its last thread.
const goneWait = 10 * time.Second

// findRecovery looks at what lies at the mount point; nil if there is no jvsfs mount. It
// fails where recovering would be wrong: a daemon that lives, or mounts of others.
func findRecovery(ctx context.Context, mounts mountTable, point string) (*recovery, error) {
	r := &recovery{point: point}
	for _, m := range mounts.stackAt(point) {
		st, err := livenessOf(ctx, m)
		switch {
		case err != nil:
			return nil, err
		case st == mountServes && len(r.dead) == 0:
			return nil, &failure{Class: classUsage, Message: point + " is served already", Next: "see jvsfs status", err: errServed}
		case st == mountServes:
			r.live = m
		case m.Root != "/":
			return nil, bindOfDead(m)
		}
		if r.live != nil {
			break
		}
		r.dead = append(r.dead, m)
	}
	if len(r.dead) == 0 {
		return nil, nil
	}
	if err := r.unencumbered(mounts); err != nil {
		return nil, err
	}
	r.readState()
	return r, nil
}

func bindOfDead(m *mountinfo.Info) *failure {
	return &failure{Class: classNoMount, Message: fmt.Sprintf("%s is a bind mount of a part (%s) of a dead jvsfs mount", m.Mountpoint, m.Root),
		Next: fmt.Sprintf("recover the mount itself; then jvsfs umount --bare %s, and bind it again", m.Mountpoint)}
}

// unencumbered refuses when something of others is mounted inside of a dead mount: it would
// vanish with it.
func (r *recovery) unencumbered(mounts mountTable) error {
	var inside []string
	for _, m := range mounts {
		for _, dead := range r.dead {
			if m.Parent == dead.ID && !r.has(m.ID) {
				inside = append(inside, m.Mountpoint)
			}
		}
	}
	if len(inside) == 0 {
		return nil
	}
	return &failure{Class: classBusy, Message: fmt.Sprintf("other file systems are mounted inside of the dead mount at %s: %s", r.point, strings.Join(inside, ", ")),
		Next: "unmount them (umount -l where umount fails), then recover; mount them again afterwards"}
}

// has tells whether a mount is one of the dead ones.
func (r *recovery) has(id int) bool {
	return slices.ContainsFunc(r.dead, func(m *mountinfo.Info) bool { return m.ID == id })
}

// copiesLeft are the places where a dead mount was also mounted, and is still after the
// recovery: those that nothing is propagated to.
func (r *recovery) copiesLeft(before mountTable) []string {
	now, err := readMounts()
	if err != nil {
		return nil // they are a note for people
	}
	var out []string
	for _, m := range before.jvsfs() {
		is := now.byID(m.ID)
		if is == nil || r.has(m.ID) || deviceOf(is) != deviceOf(m) {
			continue
		}
		if slices.ContainsFunc(r.dead, func(dead *mountinfo.Info) bool { return deviceOf(dead) == deviceOf(m) }) {
			out = append(out, m.Mountpoint)
		}
	}
	return out
}

// readState finds what the latest daemon left behind that served here.
func (r *recovery) readState() {
	for _, m := range r.dead {
		st, err := readMountState(deviceOf(m))
		if err == nil && st.Mountpoint == r.point && (r.state == nil || st.Since.After(r.state.Since)) {
			r.state, r.left = st, deviceOf(m)
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
	short, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	err := ping(short, m)
	switch {
	case err == nil, isAnswer(err):
		return mountServes, nil
	case ctx.Err() != nil:
		return mountDead, ctx.Err()
	case errors.Is(err, os.ErrPermission):
		return mountDead, err
	case nobodyThere(err): // also one that hung up in the middle of the answer: it ends
		return mountDead, nil
	}
	return mountDead, &failure{Class: classNoMount, err: err,
		Message: fmt.Sprintf("the daemon of the mount at %s does not answer, but it has not ended: what it has begun it may still finish", m.Mountpoint),
		Next:    "resume it (kill -CONT), or end it (kill -KILL), then recover"}
}

// awaitEnd waits until the daemon of a dead mount, the uppermost at its place, is gone with
// all its threads, and the kernel says so: then nothing of its own is under way.
func awaitEnd(ctx context.Context, m *mountinfo.Info) error {
	ctx, cancel := context.WithTimeout(ctx, goneWait)
	defer cancel()
	if st, err := readMountState(deviceOf(m)); err == nil && st.Daemon.liveness() != lease.Unknown {
		return awaitGone(ctx, st.Daemon)
	}
	return probeDead(ctx, m) // nothing is known of it, or it was in a pid namespace that is not seen here
}

// awaitGone waits for the end of a process, by condition.
func awaitGone(ctx context.Context, p processState) error {
	for p.liveness() != lease.Gone {
		select {
		case <-ctx.Done():
			return &failure{Class: classNoMount, Message: fmt.Sprintf("process %d, the daemon of the dead mount, has not ended", p.PID),
				Next: fmt.Sprintf("end it (kill -KILL %d), then recover", p.PID)}
		case <-time.After(2 * time.Millisecond):
		}
	}
	return nil
}

// recoverLock is the name of the file that recoveries lock. It is root's alone: a flock takes
// no more than being able to open the file, and would keep every dead mount dead.
const recoverLock = "recover.lock"

// lockRecoveries keeps other recoveries of this machine away until the lock is closed.
func lockRecoveries(ctx context.Context) (*os.File, error) {
	if err := prepareSocketDir(socketDir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(socketDir, recoverLock), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
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
			closeFile(f)
			return nil, &failure{Class: classBusy, Message: "another recovery is under way", Next: "wait for it: jvsfs status", err: err}
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// unlock lets other recoveries go on.
func (r *recovery) unlock() {
	if r != nil {
		closeFile(r.lock)
		r.lock = nil
	}
}

// uncover finishes a recovery that ended before its last step: the new mount serves, and
// the dead one still covers it.
func (r *recovery) uncover(warn func(error)) error {
	for _, m := range r.dead {
		if err := r.takeAway(m, warn); err != nil {
			return err
		}
	}
	return nil
}

// takeAway detaches a dead mount that is the uppermost at the place: that very one, and only
// if it carries nothing of others.
func (r *recovery) takeAway(dead *mountinfo.Info, warn func(error)) error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	top := mounts.byID(dead.ID) // the number alone may be another mount's by now
	if top == nil || top.Mountpoint != r.point || deviceOf(top) != deviceOf(dead) {
		return fmt.Errorf("the dead mount at %s has just gone: try again", r.point)
	}
	if err := r.unencumbered(mounts); err != nil {
		return err
	}
	m, err := holdMount(top)
	if err != nil {
		return err
	}
	defer m.close()
	if err := m.detach(); err != nil {
		return err
	}
	// Afterwards: whoever is killed in between leaves files that are of no use, and not a
	// daemon that serves on and cannot be asked. m keeps the device number from being given
	// to another mount, whose files these would then be.
	if err := r.forget(deviceOf(top)); err != nil {
		warn(err)
	}
	return nil
}

// forget removes what is known of a mount that was taken away. A daemon that was replaced
// serves its copies on, and can be asked until it ends.
func (r *recovery) forget(d device) error {
	if mounts, err := readMounts(); r.serves && err == nil && mounts.has(d) {
		return removeAll(leasesPath(d))
	}
	return forgetMount(d)
}

// heir reports whether a new mount of p may go on with the leases of the one that ended: it
// must be the same worktrees, by the same records.
func heir(st *mountState, p place) bool { return st.Source == p.Root && st.Locks == p.LockDir }

// findServing is the mount to be replaced: it serves, alone at its place, with nothing of others
// mounted inside.
func findServing(ctx context.Context, mounts mountTable, point string) (*recovery, error) {
	stack := mounts.stackAt(point)
	if len(stack) == 0 {
		return nil, &failure{Class: classNoMount, Message: "there is no jvsfs mount to replace at " + point, Next: "mount without --replace"}
	}
	st, err := livenessOf(ctx, stack[0])
	switch {
	case err != nil:
		return nil, err
	case st != mountServes:
		return nil, &failure{Class: classNoMount, Message: "the mount at " + point + " is dead", Next: "jvsfs recover " + point}
	case len(stack) > 1 || stack[0].Root != "/":
		return nil, &failure{Class: classUsage, Message: point + " is a bind mount, or covers another jvsfs mount", Next: "replace the mount itself; see jvsfs status"}
	}
	r := &recovery{point: point, dead: stack, serves: true}
	if err := r.unencumbered(mounts); err != nil {
		return nil, err
	}
	if r.readState(); r.state == nil {
		return nil, &failure{Class: classNoMount, Message: "the running daemon is of a release that cannot be replaced", Next: "jvsfs umount, then mount"}
	}
	return r, nil
}
