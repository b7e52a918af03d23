package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
		Long: `Drain, flush, release and unmount. Processes that keep the mount busy are named.

A mount whose daemon is dead refuses everything. jvsfs recover brings it back;
unmounting it bares the directory below: writes then reach it with no fence.
That needs --bare, which never takes away a mount that somebody serves: whether
one is dead the kernel says, also where the daemon cannot be asked from here.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := unmountPath(cmd.Context(), io, args[0], bare)
			if err == nil && asJSON {
				err = human.PrintJSON(io.out, unmountReport{args[0], true})
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&bare, "bare", false, "unmount a dead mount, which bares the directory below")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func unmountPath(ctx context.Context, io stdio, path string, bare bool) error {
	m, err := mountAt(path)
	if err != nil {
		return err
	}
	of, err := askUnmount(ctx, m, io)
	switch f := api.AsFailure(err); {
	case err == nil && of != "":
		noteTo(io)(fmt.Sprintf("%s is a bind mount: what was mounted at %s is left alone", m.Mountpoint, of))
		return unmountPlainly(m)
	case err == nil:
		sayDeadBelow(io, m.Mountpoint)
		return nil
	case f.Class != api.ClassNoMount:
		return err
	case !bare:
		return wantsBare(f, m.Mountpoint)
	}
	if err := refuseLiving(ctx, m, api.AsFailure(err)); err != nil {
		return err
	}
	return unmountDead(m)
}

// bareWait bounds the wait for a killed daemon to be gone.
const bareWait = 10 * time.Second

// refuseLiving keeps --bare from a mount that is not dead, whatever its control socket says:
// the directory below would be open to all while somebody writes by a lease.
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
		return fmt.Errorf("whether the mount at %s is dead cannot be told: %w", m.Mountpoint, err)
	}
	f := *why
	f.Message = fmt.Sprintf("the mount at %s is not dead, and --bare takes away dead mounts alone: %s", m.Mountpoint, why.Message)
	if client.IsUnseen(why) {
		f.Next += fmt.Sprintf("; umount -i %s takes it away from this mount namespace alone", m.Mountpoint)
	}
	return &f
}

// wantsBare adds what there is to know of a dead mount that is to be unmounted. A daemon that
// is only silent comes back by itself, or is ended: its mount is not given up.
func wantsBare(f *api.Failure, point string) *api.Failure {
	if client.NobodyThere(f.Err) {
		f.Message += "; unmounting it bares the directory below to writes with no fence"
		f.Next = fmt.Sprintf("jvsfs recover %s brings it back; jvsfs umount --bare %s takes it away all the same", point, point)
	}
	return f
}

// askUnmount asks the daemon, which unmounts its own mount and no copy of it: of is where
// that is, if m is a copy.
func askUnmount(ctx context.Context, m *mountinfo.Info, io stdio) (of string, err error) {
	mounts, err := host.ReadMounts()
	if err != nil {
		return "", err
	}
	resp, err := client.Ask(ctx, m, api.Unmount{Mount: m.ID, Mountpoint: m.Mountpoint}, nil, noteTo(io))
	if f := api.AsFailure(err); f != nil && f.Class == api.ClassUsage && mounts.Count(host.DeviceOf(m)) == 1 {
		// A daemon of before does not know the fields. There is no copy that it could mistake.
		resp, err = client.Ask(ctx, m, api.Unmount{}, nil, noteTo(io))
	}
	var done api.Unmounted
	if err == nil && len(resp.Result) > 0 {
		err = json.Unmarshal(resp.Result, &done)
	}
	return done.CopyOf, err
}

// sayDeadBelow warns when a dead mount comes to light: on a kernel that can put no mount beneath
// another a recovery leaves it there (Linux before 6.5).
func sayDeadBelow(io stdio, point string) {
	if below, err := jvsfsAt(point); err == nil {
		noteTo(io)(fmt.Sprintf("a dead mount of before lies at %s, and refuses everything: jvsfs umount --bare takes it away", below.Mountpoint))
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

// unmountDead takes a mount away that nobody serves, and what is known of it with the last
// of its copies.
func unmountDead(m *mountinfo.Info) error {
	if err := unmountPlainly(m); err != nil {
		return err
	}
	d := host.DeviceOf(m)
	// It may be elsewhere, be it in another mount namespace, and be recovered there; so it is where that cannot be told.
	if there, err := fusefs.Connected(d.Major, d.Minor); !there && err == nil {
		return host.ForgetMount(d)
	}
	return nil
}

// unmountPlainly takes one mount away, and asks nobody.
func unmountPlainly(m *mountinfo.Info) error {
	err := unix.Unmount(m.Mountpoint, unix.UMOUNT_NOFOLLOW)
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

// noteTo prints notes of the daemon to people.
func noteTo(io stdio) func(string) {
	return func(s string) { fmt.Fprintf(io.err, "jvsfs: %s\n", human.Printable(s)) }
}
