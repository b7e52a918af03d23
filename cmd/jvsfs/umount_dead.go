package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/fusefs"
)

// unmountDead unmounts a mount that nobody serves. With the last of its copies it removes the state of the
// mount.
func unmountDead(ctx context.Context, io stdio, m *mountinfo.Info) error {
	if err := unmountUnseen(ctx, io, m); err != nil {
		return err
	}
	d := host.DeviceOf(m)
	// It may be mounted elsewhere too, for example in another mount namespace, and may be recovered there.
	there, err := fusefs.Connected(d.Major, d.Minor)
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

// unmountUnseen unmounts a dead mount between the looks of others. Each command of jvsfs looks whether the mount is dead, so those who try
// again and again to write there would keep it busy for as long as they do.
func unmountUnseen(ctx context.Context, io stdio, m *mountinfo.Info) error {
	ctx, cancel := context.WithTimeout(ctx, bareWait)
	defer cancel()
	err := unmountPlainly(m)
	for told := false; ctx.Err() == nil && keptByLooks(err, told); told = true {
		if !told {
			noteTo(io)("others look at the mount at " + m.Mountpoint + "; waiting until none does")
		}
		if unmountOften(ctx, m) == nil {
			return nil
		}
		err = unmountPlainly(m)
	}
	return err
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
func keptByLooks(err error, before bool) bool {
	f := api.AsFailure(err)
	if f == nil || f.Class != api.ClassBusy || len(f.Busy) == 0 {
		return f != nil && f.Class == api.ClassBusy && before
	}
	return !slices.ContainsFunc(f.Busy, func(e api.BusyEntry) bool { return !host.IsLook(e) })
}
