package mount

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/background"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/logging"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// NewRecover is jvsfs recover.
func NewRecover(io console.Streams) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "recover [MOUNTPOINT]", Short: "Restore a mount whose daemon was killed",
		Long: `Restore a mount whose daemon was killed, as it was. Without MOUNTPOINT, restore all
such mounts. The path never leads to the directory below: the new mount is put
beneath the dead one, and then the dead one is detached.

The lease of a living process continues under the same token if nobody else took it
and its time was not over. A process that loses its lease is refused until it acquires
one again. Files and directories that were open through the dead mount must be opened
again.`,
		Args: usage.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := console.UntilSignal(cmd.Context())
			defer stop()
			all, err := recoverAll(ctx, io, args)
			if err != nil && len(all) == 0 {
				return err
			}
			return cmp.Or(reportRecoveries(io, all, asJSON), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// recovered is what became of one dead mount; the JSON names are a promise.
type recovered struct {
	Mountpoint string       `json:"mountpoint"`
	State      string       `json:"state"`            // serving or dead
	Copies     []string     `json:"copies,omitempty"` // bind mounts of the dead mount, which stay dead
	Error      *api.Failure `json:"error,omitempty"`
}

// recoverAll recovers the mount at a place, or every dead one. If one fails, the others are recovered all the
// same.
func recoverAll(ctx context.Context, io console.Streams, args []string) ([]recovered, error) {
	if host.ByUser() {
		return nil, &api.Failure{Class: api.ClassDenied, Message: "to recover a mount without a moment in which nothing is fenced needs root",
			Next: "run it with sudo; a mount of your own: jvsfs umount --bare MOUNTPOINT, then jvsfs mount it again"}
	}
	points, err := recoverable(args)
	if err != nil {
		return nil, err
	}
	all := []recovered{}
	var later []string // of which nothing is known: they may come back where another is propagated to
	for i, point := range points {
		if ctx.Err() != nil {
			return all, &api.Failure{Code: api.ExitInterrupted, Err: ctx.Err(), Next: "jvsfs recover goes on",
				Message: fmt.Sprintf("interrupted: %d of %d mounts were not looked at", len(points)-i, len(points))}
		}
		var done *recovered
		var known bool
		show := console.NewWaits(io, console.WaitsFor(fmt.Sprintf("the recovery of %s (%d of %d)", point, i+1, len(points))))
		_ = show.During(ctx, func() error { // its error is in done
			done, known = recoverOne(ctx, point, len(args) > 0)
			return nil
		})
		switch {
		case !known:
			later = append(later, point)
		case done != nil:
			all = append(all, *done)
		}
	}
	for _, point := range later {
		if slices.ContainsFunc(all, func(r recovered) bool { return slices.Contains(r.Copies, point) }) {
			continue // it was named as a copy
		}
		if done, _ := recoverOne(ctx, point, true); done != nil && !recovery.IsServed(done.Error) {
			all = append(all, *done)
		}
	}
	return all, nil
}

// recoverOne recovers the mount at a place. It returns nil if there is nothing to recover. known is false, and
// nothing is done, if no state says how to recover the mount and the user has not named it (meant).
func recoverOne(ctx context.Context, point string, meant bool) (done *recovered, known bool) {
	mounts, err := host.ReadMounts()
	var r *recovery.Recovery
	if err == nil {
		r, err = recovery.Find(ctx, mounts, point)
	}
	switch {
	case err == nil && r == nil, !meant && recovery.IsServed(err):
		return nil, true
	case err == nil && r.State == nil && r.Live == nil && !meant:
		return nil, false
	}
	done = &recovered{Mountpoint: point, State: "dead"}
	if err == nil {
		if err = bringBack(ctx, r); err != nil && recovery.ServedNow(ctx, point) {
			err = nil // another recovery was faster, and took away what this one rested on
		}
	}
	err = console.Interrupted(err, console.WaitsFor(point+" stays as it is; jvsfs recover goes on"))
	if done.Error = api.AsFailure(err); err == nil {
		done.State, done.Copies = "serving", r.CopiesLeft(mounts)
	}
	return done, true
}

// recoverable are the places to look at, each once.
func recoverable(args []string) ([]string, error) {
	if len(args) > 0 {
		m, err := lookup.MountAt(args[0])
		if err != nil {
			return nil, err
		}
		return []string{m.Mountpoint}, nil
	}
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil, err
	}
	var points []string
	seen := map[string]bool{}
	for _, m := range mounts.JVSFS() {
		if host.IsForeign(m) {
			continue // its user brings it back
		}
		if !seen[m.Mountpoint] {
			seen[m.Mountpoint] = true
			points = append(points, m.Mountpoint)
		}
	}
	return points, nil
}

// bringBack starts the daemon again as it was, in the background, and waits until it serves.
func bringBack(ctx context.Context, r *recovery.Recovery) error {
	if r.Live != nil {
		return r.Finish(ctx)
	}
	if r.State == nil {
		return r.Unknown()
	}
	cfg, err := mountcfg.Restore(r.State.Config, host.StatePath(r.Left), rules.Check)
	if err != nil {
		return err
	}
	log, err := logging.Open(cfg)
	if err != nil {
		return err
	}
	defer host.CloseFile(log)
	return background.Start(ctx, background.RecoverArgs(r.Left), log)
}

// recoveries is what `recover --json` prints; the names are a promise.
type recoveries struct {
	Mounts []recovered `json:"mounts"`
}

// reportRecoveries prints all; the first failure decides the exit code.
func reportRecoveries(io console.Streams, all []recovered, asJSON bool) error {
	failed := joinFailures(all)
	if asJSON {
		if err := human.PrintJSON(io.Out, recoveries{all}); err != nil || failed == nil {
			return err
		}
		return api.ExitWith(failed.Exit())
	}
	if len(all) == 0 {
		fmt.Fprintln(io.Out, "no dead jvsfs mounts")
	}
	for _, r := range all {
		if r.Error == nil {
			fmt.Fprintf(io.Out, "%s serves again\n", human.Printable(r.Mountpoint))
		}
		for _, c := range r.Copies {
			console.Note(io)(fmt.Sprintf("%s is a bind mount of the dead mount and stays dead: jvsfs umount --bare %s, then bind it again", c, c))
		}
	}
	if failed == nil {
		return nil
	}
	return failed
}

// joinFailures is the one failure, or a sum of them under the class of the first; nil for none.
func joinFailures(all []recovered) (sum *api.Failure) {
	for _, r := range all {
		switch {
		case r.Error == nil:
		case sum == nil:
			first := *r.Error
			sum = &first
		default:
			sum.Message += "; " + r.Error.Message
		}
	}
	return sum
}
