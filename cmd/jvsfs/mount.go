package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/mountcfg"
)

type mountCommand struct {
	asJSON     bool
	io         stdio
	settings   settings
	foreground bool
	background bool // this process is the daemon that another one waits for
	recover    bool
	replace    bool
	strict     bool               // who stands beneath keeps the mount away
	state      string             // the device whose daemon left the configuration, "" for none
	recovery   *recovery.Recovery // what prepare has found
}

func newMountCommand(io stdio) *cobra.Command { return (&mountCommand{io: io}).command() }

func (m *mountCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mount SOURCE [MOUNTPOINT]",
		Short: "Mount SOURCE, in place or at MOUNTPOINT, and return when it serves",
		Long: `Mount SOURCE, in place or at MOUNTPOINT, and return when it serves.

SOURCE is a JVS repository (it has .jvs; main and worktrees/NAME are guarded each
on its own), one worktree of a repository, or any directory. The records of a
plain directory live in --control, or else below ` + place.DefaultControlRoot + `.
A tree has one set of records: while the directory, one above or one below is served
with others, mounting fails and names that mount.

Who stands in the directory (its working directory, open files, mappings) stays beneath
the mount, and writes past it: these processes are named, first the shell that the command
was run in, which cd "$PWD" takes into the mount. With --strict nothing is mounted then.

Not to be guarded are /, what lies in a file system of the kernel's own (/proc, /sys, /dev),
and a directory that holds what jvsfs itself needs: ` + host.SocketDir + `, ` + place.DefaultControlRoot + `,
its log, lease records. Those of a repository, and a --control below SOURCE, are meant to
be there.

By mount(8), or a line of fstab, the type is ` + host.FSType + ` and the options are those of -o.

Ending the daemon by SIGTERM or SIGINT unmounts. While the mount is busy it
releases what is held and leaves a dead mount, which refuses everything.`,
		Args: usageArgs(cobra.RangeArgs(0, 2)),
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd, args) },
	}
	m.settings.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&m.asJSON, "json", false, "print JSON when it serves")
	cmd.Flags().BoolVar(&m.foreground, "foreground", false, "stay, and log to standard error")
	cmd.Flags().BoolVar(&m.strict, "strict", false, "mount nothing while processes stand in the directory, and would write past the mount")
	m.addRecoverFlags(cmd.Flags())
	return cmd
}

func (m *mountCommand) run(cmd *cobra.Command, args []string) error {
	m.background = daemon.IsBackground()
	if !m.background {
		return m.start(cmd, args)
	}
	w := os.NewFile(daemon.ReadyFD, "ready")
	syscall.CloseOnExec(daemon.ReadyFD)
	told := false
	err := m.daemonMain(cmd, args, func(err error) error { told = true; return daemon.ReportReady(w, err) })
	if err != nil && !told {
		return errors.Join(err, daemon.ReportReady(w, err))
	}
	return err
}

// prepare resolves the configuration and the source.
func (m *mountCommand) prepare(cmd *cobra.Command, args []string) (mountcfg.Config, place.Place, error) {
	cfg, err := m.configuration(cmd, args)
	if err != nil {
		return cfg, place.Place{}, err
	}
	if cfg.Source == "" {
		return cfg, place.Place{}, api.Usagef("nothing to mount: name a SOURCE")
	}
	mounts, err := host.ReadMounts()
	if err != nil {
		return cfg, place.Place{}, err
	}
	if err := m.resolvePaths(cmd.Context(), &cfg, mounts); err != nil {
		return cfg, place.Place{}, err
	}
	if err := cfg.Validate(); err != nil {
		return cfg, place.Place{}, api.UsageError(err)
	}
	p, err := m.sourceOf(cfg)
	if err == nil && m.recovery == nil { // what is there already comes back
		err = p.Mountable(cmp.Or(cfg.Mountpoint, p.Root), daemon.LogPath(cfg), mounts)
	}
	return cfg, p, err
}

// resolvePaths follows symbolic links in source and mount point, and refuses what
// is on a jvsfs mount already, unless it is a dead one that is to come back.
func (m *mountCommand) resolvePaths(ctx context.Context, cfg *mountcfg.Config, mounts host.MountTable) error {
	for _, path := range []*string{&cfg.Source, &cfg.Mountpoint} {
		if *path == "" {
			continue
		}
		resolved, on, err := host.Resolve(*path, mounts)
		if err != nil {
			return err
		}
		if (m.recover || m.replace) && host.IsJVSFS(on) && on.Mountpoint == resolved {
			if m.recovery, err = m.find(ctx, mounts, resolved); err != nil {
				return err
			}
			*path = resolved
			continue
		}
		if host.IsJVSFS(on) {
			return &api.Failure{
				Class: api.ClassUsage, Message: fmt.Sprintf("%s is on the jvsfs mount at %s already", *path, on.Mountpoint),
				Next: "see jvsfs status; jvsfs umount " + on.Mountpoint,
			}
		}
		*path = resolved
	}
	if cfg.Mountpoint == cfg.Source {
		cfg.Mountpoint = ""
	}
	if m.replace && m.recovery == nil {
		return api.Usagef("there is no jvsfs mount to replace at %s", cmp.Or(cfg.Mountpoint, cfg.Source))
	}
	if m.recovery != nil && m.recovery.Point != cmp.Or(cfg.Mountpoint, cfg.Source) {
		return api.Usagef("%s is a dead jvsfs mount: recover that first (jvsfs recover %s)", m.recovery.Point, m.recovery.Point)
	}
	return nil
}

// start serves in the foreground, or starts the daemon and waits for it.
func (m *mountCommand) start(cmd *cobra.Command, args []string) error {
	if m.foreground {
		return m.daemonMain(cmd, args, func(error) error { return nil })
	}
	cfg, p, err := m.prepare(cmd, args)
	if err != nil {
		return err
	}
	if err := needRoot(); err != nil {
		return err
	}
	done := mountedOf(cfg, p)
	if err := m.refuseStanding(done.Mountpoint); err != nil {
		return err
	}
	log, err := daemon.OpenLog(cfg)
	if err != nil {
		return err
	}
	defer host.CloseFile(log)
	if !m.asJSON {
		m.sayLocal(p)
	}
	before, err := host.ReadMounts()
	if err != nil {
		return err
	}
	if err = daemon.StartInBackground(os.Args[1:], log); err != nil {
		return err
	}
	m.sayCopies(before)
	m.sayLocks(cfg)
	done.Hidden = m.sayHidden(p, done.Mountpoint)
	done.Beneath = m.sayBeneath(done.Mountpoint)
	if m.asJSON {
		return human.PrintJSON(m.io.out, done)
	}
	return nil
}

// mounted is what `mount --json` prints; the names are those of `status --json`.
type mounted struct {
	Mountpoint string    `json:"mountpoint"`
	Source     string    `json:"source"`
	Shape      api.Shape `json:"shape"`
	Locks      string    `json:"locks"`
	Local      bool      `json:"local,omitempty"`
	Hidden     []string  `json:"hidden,omitempty"` // mounts inside of the source that are no part of it

	Beneath []api.BusyEntry `json:"beneath,omitempty"` // who stands in the directory that is covered
}

func mountedOf(cfg mountcfg.Config, p place.Place) mounted {
	return mounted{Mountpoint: cmp.Or(cfg.Mountpoint, p.Root), Source: p.Root, Shape: p.Shape, Locks: p.LockDir, Local: p.Local}
}

func needRoot() error {
	if os.Geteuid() != 0 {
		return &api.Failure{Class: api.ClassDenied, Message: "mounting over a directory needs root", Next: "run it with sudo"}
	}
	return nil
}

func (m *mountCommand) sayLocal(p place.Place) {
	if p.Local {
		fmt.Fprintf(m.io.out, "the lease records live in %s: the fence is local to this machine (--control DIR chooses another place)\n", p.LockDir)
	}
}

// daemonMain is the daemon itself.
func (m *mountCommand) daemonMain(cmd *cobra.Command, args []string, ready func(error) error) (err error) {
	service := daemon.TakeService(m.foreground)
	defer func() { service.Ended(err) }()
	cfg, p, err := m.prepare(cmd, args)
	if err != nil {
		return err
	}
	if err := needRoot(); err != nil {
		return err
	}
	log, left, err := m.logger(cfg)
	if err != nil {
		return err
	}
	if !m.background {
		point := mountedOf(cfg, p).Mountpoint
		if err := m.refuseStanding(point); err != nil {
			return err
		}
		m.sayLocal(p)
		m.sayHidden(p, point)
		tell := ready
		ready = func(err error) error {
			m.sayBeneath(point)
			return tell(err)
		}
	}
	if err := daemon.Detach(); err != nil {
		return err
	}
	if err := daemon.DieBySignal(); err != nil {
		return err
	}
	daemon.RaisePriority()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	d, err := m.newDaemon(cmd.Context(), cfg, p, daemon.Outside{Log: log, Suppressed: left, Service: service})
	if err != nil {
		return err
	}
	err = d.Run(ctx, ready)
	log.Info("ended", zap.Error(err))
	_ = log.Sync() // standard error cannot be synced, and says so
	return err
}

// logger is the log of the daemon and the count of what it leaves out.
func (m *mountCommand) logger(cfg mountcfg.Config) (*zap.Logger, *daemon.Suppressed, error) {
	out := os.Stderr
	if !m.foreground || cfg.LogFile != "" {
		f, err := daemon.OpenLog(cfg)
		if err != nil {
			return nil, nil, err
		}
		out = f // kept for the life of the daemon
	}
	left := daemon.NewSuppressed()
	log, err := daemon.NewLogger(cfg, out, left)
	return log, left, err
}

// sayHidden tells who mounts what the mount does not show.
func (m *mountCommand) sayHidden(p place.Place, point string) []string {
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil
	}
	all := mounts.HiddenIn(p.Root)
	if len(all) == 0 {
		return nil
	}
	noteTo(m.io)(fmt.Sprintf("not part of the mount are the file systems that are mounted inside of %s: %s; what is written to those places through %s goes to the directories that they cover. "+
		"Unmount them before, or mount them again at their places in %s", p.Root, host.HiddenText(all), point, point))
	out := make([]string, 0, len(all))
	for _, h := range all {
		out = append(out, h.Mountpoint)
	}
	return out
}
