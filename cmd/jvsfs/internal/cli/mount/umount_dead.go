package mount

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/fusefs"
)

// unmountDead unmounts a mount that nobody serves. With the last of its copies it removes the state of the
// mount.
func unmountDead(ctx context.Context, io console.Streams, m *mountinfo.Info) error {
	if err := unmountUnseen(ctx, io, m); err != nil {
		return err
	}
	d := host.DeviceOf(m)
	there, err := stillConnected(ctx, d)
	if err != nil && host.ByUser() { // only the mount table tells a user
		var mounts host.MountTable
		mounts, err = host.ReadMounts()
		there = mounts.Has(d)
	}
	if !there && err == nil {
		return host.ForgetMount(d)
	}
	return nil
}

// elsewhereWait bounds the wait for the last copies of a mount that was just unmounted.
const elsewhereWait = 2 * time.Second

// stillConnected reports whether the kernel still has the connection of a mount that was unmounted here. Then it is mounted elsewhere too, for
// example in another mount namespace, and may be recovered there. Some copies last for a moment only: a process that looks beneath a mount
// copies the mount namespace for it (host/underneath.go), and a look may hold a mount that was detached.
func stillConnected(ctx context.Context, d api.Device) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, elsewhereWait)
	defer cancel()
	for {
		there, err := fusefs.Connected(d.Major, d.Minor)
		if !there || err != nil || ctx.Err() != nil {
			return there, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// unmountUnseen unmounts a dead mount between the looks of others. Each command of jvsfs looks whether the mount is dead, so those who try
// again and again to write there would keep it busy for as long as they do. If there is no gap between them, the mount is detached: nothing
// is read or written by a look, and nothing at all by a dead mount.
func unmountUnseen(ctx context.Context, io console.Streams, m *mountinfo.Info) error {
	ctx, cancel := context.WithTimeout(ctx, bareWait)
	defer cancel()
	err := unmountPlainly(m)
	for told := false; keptByLooks(err, host.DeviceOf(m), told); told = true {
		if errors.Is(ctx.Err(), context.Canceled) { // Ctrl-C
			return err
		}
		if ctx.Err() != nil {
			console.Note(io)("the mount at " + m.Mountpoint + " is taken away from under those who look at it")
			return detach(m)
		}
		if !told {
			console.Note(io)("others look at the mount at " + m.Mountpoint + "; waiting until none does")
		}
		if unmountOften(ctx, m) == nil {
			return nil
		}
		err = unmountPlainly(m)
	}
	return err
}

// detach takes a mount out of the tree. Whoever has it open keeps it until he closes it.
func detach(m *mountinfo.Info) error {
	if host.IsOwnMount(m) {
		return fusefs.DetachByUser(m.Mountpoint)
	}
	held, err := host.HoldMount(m)
	if err != nil {
		return err
	}
	defer held.Close()
	return held.Detach()
}

// unmountOften tries for a moment, and does not find out who keeps the mount busy, which takes longer than a look.
func unmountOften(ctx context.Context, m *mountinfo.Info) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for {
		err := unmountOnce(m)
		if ctx.Err() != nil || !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// keptByLooks is whether err says that nothing but looks keeps a mount busy. They may have ended by the time they are searched for: before
// shows that there were some.
func keptByLooks(err error, d api.Device, before bool) bool {
	f := api.AsFailure(err)
	if f == nil || f.Class != api.ClassBusy || len(f.Busy) == 0 {
		return f != nil && f.Class == api.ClassBusy && before
	}
	return !slices.ContainsFunc(f.Busy, func(e api.BusyEntry) bool { return !host.IsLook(e, d) })
}
