package mount

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/moby/sys/mountinfo"
	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// unmountReport is what `umount --json` prints; the names are a promise.
type unmountReport struct {
	Mountpoint string `json:"mountpoint"`
	Unmounted  bool   `json:"unmounted"`
}

// NewUmount is jvsfs umount.
func NewUmount(io console.Streams) *cobra.Command {
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
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := console.UntilSignal(cmd.Context())
			defer stop()
			err := console.Interrupted(unmountPath(ctx, io, args[0], bare), lookup.MountNow(args[0]))
			if err == nil && asJSON {
				err = human.PrintJSON(io.Out, unmountReport{args[0], true})
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&bare, "bare", false, "unmount a dead mount; then nothing fences the directory below")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func unmountPath(ctx context.Context, io console.Streams, path string, bare bool) error {
	m, err := lookup.MountAt(path)
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
		console.Note(io)(fmt.Sprintf("%s is a bind mount; the mount at %s stays", m.Mountpoint, of))
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
func askUnmount(ctx context.Context, m *mountinfo.Info, io console.Streams) (of string, err error) {
	mounts, err := host.ReadMounts()
	if err != nil {
		return "", err
	}
	var resp api.Response
	show := console.NewWaits(io, lookup.InFlight(m, "the unmount of "+m.Mountpoint))
	err = show.During(ctx, func() error {
		resp, err = client.Ask(ctx, m, api.Unmount{Mount: m.ID, Mountpoint: m.Mountpoint}, nil, show.Note)
		return err
	})
	if f := api.AsFailure(err); f != nil && f.Class == api.ClassUsage && mounts.Count(host.DeviceOf(m)) == 1 {
		// A daemon of an older release does not know these fields. Without a copy it needs none of them.
		resp, err = client.Ask(ctx, m, api.Unmount{}, nil, console.Note(io))
	}
	var done api.Unmounted
	if err == nil && len(resp.Result) > 0 {
		err = json.Unmarshal(resp.Result, &done)
	}
	return done.CopyOf, err
}

// sayDeadBelow warns if a dead mount lies below the one that was unmounted. Before Linux 6.5 a recovery leaves
// it there.
func sayDeadBelow(io console.Streams, point string) {
	if below, err := lookup.JVSFSAt(point); err == nil {
		console.Note(io)(fmt.Sprintf("a dead mount of before lies at %s, and refuses everything: jvsfs umount --bare unmounts it", below.Mountpoint))
	}
}
