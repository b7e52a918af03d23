package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/fusefs"
)

// unmountReport is what `umount --json` prints; the names are a promise.
type unmountReport struct {
	Mountpoint string `json:"mountpoint"`
	Unmounted  bool   `json:"unmounted"`
}

func newUmountCommand(io stdio) *cobra.Command {
	bare, asJSON := false, false
	cmd := &cobra.Command{
		Use:     "umount MOUNTPOINT",
		Aliases: []string{"unmount"},
		Short:   "Drain, flush, release and unmount",
		Long: `Drain, flush, release and unmount. If processes keep the mount busy, umount names them.

A mount whose daemon is dead refuses everything. jvsfs recover restores it. umount
takes it away only with --bare, because then nothing fences writes to the directory
below. --bare never takes away a mount that a daemon serves. The kernel says which
mounts are dead, also if the daemon cannot be asked from here.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			err := interrupted(unmountPath(ctx, io, args[0], bare), mountNow(args[0]))
			if err == nil && asJSON {
				err = human.PrintJSON(io.out, unmountReport{args[0], true})
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&bare, "bare", false, "unmount a dead mount; then nothing fences the directory below")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func unmountPath(ctx context.Context, io stdio, path string, bare bool) error {
	m, err := mountAt(path)
	if err != nil {
		return err
	}
	here, _ := host.WorkingDirectory()    // "" is in no mount
	if err := os.Chdir("/"); err != nil { // this command would keep busy what it was started in
		return err
	}
	of, err := askUnmount(ctx, m, io)
	switch f := api.AsFailure(err); {
	case err != nil && f.Class == api.ClassBusy && host.Within(m.Mountpoint, here):
		return busyByShell(f, m.Mountpoint)
	case err == nil && of != "":
		noteTo(io)(fmt.Sprintf("%s is a bind mount; the mount at %s stays", m.Mountpoint, of))
		return unmountPlainly(m)
	case err == nil:
		sayDeadBelow(io, m.Mountpoint)
		return nil
	case f.Class != api.ClassNoMount:
		return err
	case !bare:
		return wantsBare(f, m.Mountpoint, host.IsOwnMount(m))
	}
	if err := refuseLiving(ctx, m, api.AsFailure(err)); err != nil {
		return err
	}
	return unmountDead(ctx, io, m)
}

// busyByShell adds what to do first if the shell of this command is among those who keep a mount busy.
func busyByShell(f *api.Failure, point string) *api.Failure {
	if slices.ContainsFunc(f.Busy, func(e api.BusyEntry) bool { return e.PID == os.Getppid() && e.Use == "cwd" }) {
		f.Next = fmt.Sprintf("leave it with this shell, and end the others: cd / && jvsfs umount %s", human.Typed(point))
	}
	return f
}

// bareWait bounds the wait for a killed daemon to be gone.
const bareWait = 10 * time.Second

// refuseLiving refuses --bare for a mount that is not dead, whatever its control socket says. Without the mount
// nothing would fence the directory below while somebody writes under a lease.
func refuseLiving(ctx context.Context, m *mountinfo.Info, why *api.Failure) error {
	patience := client.StatusTimeout
	if client.NobodyThere(why.Err) {
		patience = bareWait
	}
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	state, err := client.ConnectionOf(short, m)
	switch state {
	case client.ConnectionGone:
		return nil
	case client.ConnectionUnknown:
		return fmt.Errorf("cannot tell whether the mount at %s is dead: %w", m.Mountpoint, err)
	}
	f := *why
	f.Message = fmt.Sprintf("the mount at %s is not dead, and --bare takes away dead mounts alone: %s", m.Mountpoint, why.Message)
	if client.IsUnseen(why) {
		f.Next += fmt.Sprintf("; umount -i %s takes it away from this mount namespace alone", m.Mountpoint)
	}
	return &f
}

// wantsBare adds advice about --bare, but only for a dead mount. A daemon that is only silent may still answer,
// or can be ended. Its mount is kept.
func wantsBare(f *api.Failure, point string, own bool) *api.Failure {
	if client.NobodyThere(f.Err) {
		f.Message += "; after an unmount nothing fences the directory below"
		f.Next = fmt.Sprintf("jvsfs recover %s restores it; jvsfs umount --bare %s unmounts it anyway", point, point)
		if own {
			f.Next = fmt.Sprintf("jvsfs umount --bare %s unmounts it; then jvsfs mount it again", point)
		}
	}
	return f
}

// askUnmount asks the daemon. The daemon unmounts only its own mount, and no copy of it. If m is a copy, of is
// the place of that mount.
func askUnmount(ctx context.Context, m *mountinfo.Info, io stdio) (of string, err error) {
	mounts, err := host.ReadMounts()
	if err != nil {
		return "", err
	}
	var resp api.Response
	show := newWaits(io, inFlight(m, "the unmount of "+m.Mountpoint))
	err = show.during(ctx, func() error {
		resp, err = client.Ask(ctx, m, api.Unmount{Mount: m.ID, Mountpoint: m.Mountpoint}, nil, show.note)
		return err
	})
	if f := api.AsFailure(err); f != nil && f.Class == api.ClassUsage && mounts.Count(host.DeviceOf(m)) == 1 {
		// A daemon of an older release does not know these fields. Without a copy it needs none of them.
		resp, err = client.Ask(ctx, m, api.Unmount{}, nil, noteTo(io))
	}
	var done api.Unmounted
	if err == nil && len(resp.Result) > 0 {
		err = json.Unmarshal(resp.Result, &done)
	}
	return done.CopyOf, err
}

// sayDeadBelow warns if a dead mount lies below the one that was unmounted. Before Linux 6.5 a recovery leaves
// it there.
func sayDeadBelow(io stdio, point string) {
	if below, err := jvsfsAt(point); err == nil {
		noteTo(io)(fmt.Sprintf("a dead mount of before lies at %s, and refuses everything: jvsfs umount --bare unmounts it", below.Mountpoint))
	}
}

// mountAt finds the jvsfs mount whose mount point path is.
func mountAt(path string) (*mountinfo.Info, error) {
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil, err
	}
	abs, m, err := host.Resolve(path, mounts)
	if err != nil {
		return nil, err
	}
	if !host.IsJVSFS(m) || m.Mountpoint != abs {
		f := &api.Failure{Class: api.ClassNoMount, Message: abs + " is not the mount point of a jvsfs mount", Next: "jvsfs status lists them"}
		if host.IsJVSFS(m) {
			f.Next = "jvsfs umount " + m.Mountpoint
		}
		return nil, f
	}
	return m, nil
}

// unmountPlainly unmounts one mount, and asks no daemon.
func unmountPlainly(m *mountinfo.Info) error {
	err := unmountOnce(m)
	switch {
	case errors.Is(err, unix.EBUSY):
		return api.BusyFailure(m.Mountpoint, host.WhoKeepsBusy(host.DeviceOf(m), os.Getpid()))
	case errors.Is(err, unix.EPERM):
		return &api.Failure{Class: api.ClassDenied, Message: "only root may unmount", Next: "run it as root", Err: err}
	case err != nil:
		return fmt.Errorf("unmount %s: %w", m.Mountpoint, err)
	}
	return nil
}

func unmountOnce(m *mountinfo.Info) error {
	if host.IsOwnMount(m) {
		return fusefs.UnmountByUser(m.Mountpoint)
	}
	return unix.Unmount(m.Mountpoint, unix.UMOUNT_NOFOLLOW)
}

// noteTo prints notes of the daemon to people.
func noteTo(io stdio) func(string) {
	return func(s string) { fmt.Fprintf(io.err, "jvsfs: %s\n", human.Printable(s)) }
}
