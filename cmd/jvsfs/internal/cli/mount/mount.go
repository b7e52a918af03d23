package mount

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/background"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/logging"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/servicemanager"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/sibling"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// New is jvsfs mount. started is what the process was started with: the complete program takes its place with that.
func New(io console.Streams, started sibling.Start) *cobra.Command {
	return (&mountCommand{io: io, started: started}).command()
}

// Pretend does for a command line of jvsfs mount all that comes before the mount.
func Pretend(ctx context.Context, io console.Streams, started sibling.Start, args []string) error {
	m := &mountCommand{io: io, started: started}
	cmd := m.command()
	cmd.SetContext(ctx)
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	_, _, err := m.prepare(cmd, cmd.Flags().Args())
	return err
}

func (m *mountCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mount SOURCE [MOUNTPOINT]",
		Short: "Mount SOURCE, in place or at MOUNTPOINT, and return when the mount serves",
		Long: `Mount SOURCE, in place or at MOUNTPOINT, and return when the mount serves.

SOURCE is a JVS repository, one worktree of a repository, or any directory. A
repository has .jvs; its main and each of worktrees/NAME have a lease of their own.
The lease records of a plain directory are in --control, or below ` + place.DefaultControlRoot + `.
A directory tree has one set of records. If another mount serves the directory, one
above it or one below it with other records, this mount fails and names the other one.

A process that is in the directory already (by its working directory, an open file or
a mapping) stays beneath the mount, and its writes are not fenced. mount names these
processes, first the shell that runs it: cd "$PWD" takes that shell into the mount. With
--strict nothing is mounted over a process.

A user without root mounts over a directory of his own, for his own processes, with
fusermount3. What such a mount lacks is in jvsfs-guarantees(7).

mount refuses /, file systems of the kernel (/proc, /sys, /dev), and a directory that
holds what jvsfs itself needs: ` + host.SocketDir + `, ` + place.DefaultControlRoot + `, its log, lease
records. The records of a repository, and a --control below SOURCE, may be in it.

mount(8) and fstab use the type ` + host.FSType + ` and the options of -o.

SIGTERM or SIGINT ends the daemon and unmounts. If the mount is busy, the daemon
releases its leases and leaves a dead mount, which refuses everything.`,
		Args: usage.Args(cobra.RangeArgs(0, 2)),
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd, args) },
	}
	m.settings.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&m.asJSON, "json", false, "print JSON when the mount serves")
	cmd.Flags().BoolVar(&m.foreground, "foreground", false, "stay in the foreground, and log to standard error")
	cmd.Flags().BoolVar(&m.strict, "strict", false, "mount nothing while a process is in the directory and would write past the mount")
	cmd.Flags().BoolVar(&m.forRuns, "for-runs", false, "unmount when no run (jvsfs run) uses the mount any more")
	_ = cmd.Flags().MarkHidden("for-runs") // fails only for a flag that is none
	m.addRecoverFlags(cmd.Flags())
	return cmd
}

func (m *mountCommand) run(cmd *cobra.Command, args []string) error {
	m.background = background.Is()
	if !m.background {
		return m.start(cmd, args)
	}
	w := os.NewFile(background.ReadyFD, "ready")
	syscall.CloseOnExec(background.ReadyFD)
	told := false
	err := m.daemonMain(cmd, args, func(err error) error { told = true; return background.ReportReady(w, err) })
	if err != nil && !told {
		return errors.Join(err, background.ReportReady(w, err), m.tryAgain(err))
	}
	return err
}

// prepare resolves the configuration and the source.
func (m *mountCommand) prepare(cmd *cobra.Command, args []string) (mountcfg.Config, place.Place, error) {
	if err := m.refuseReplacing(args); err != nil {
		return mountcfg.Config{}, place.Place{}, err
	}
	cfg, err := m.configuration(cmd, args)
	if err != nil {
		return cfg, place.Place{}, err
	}
	if cfg.Source == "" {
		return cfg, place.Place{}, &api.Failure{Class: api.ClassUsage, Message: cmd.CommandPath() + ": SOURCE is missing", Next: usage.Line(cmd)}
	}
	mounts, err := host.ReadMounts()
	if err != nil {
		return cfg, place.Place{}, err
	}
	if err := m.resolvePaths(cmd.Context(), &cfg, mounts); err != nil {
		return cfg, place.Place{}, err
	}
	if err := sayable(cfg.Source, cfg.Mountpoint, cfg.Control, cfg.Repository); err != nil {
		return cfg, place.Place{}, err
	}
	if err := cfg.Validate(); err != nil {
		return cfg, place.Place{}, api.UsageError(err)
	}
	if err := m.enter(cfg); err != nil {
		return cfg, place.Place{}, err
	}
	p, err := m.sourceOf(cfg)
	if err == nil {
		p, err = withRules(cfg, p)
	}
	if err == nil && m.recovery == nil {
		err = lookup.MustBeDirectory(cmp.Or(cfg.Mountpoint, p.Root))
	}
	if err == nil && m.recovery == nil { // a restored mount was checked when it was made
		err = p.Mountable(cmp.Or(cfg.Mountpoint, p.Root), logging.Path(cfg), mounts, place.LivingStates())
	}
	if err == nil && m.recovery == nil && !cfg.LocalOnly {
		err = p.RefuseLocalRecords(mounts)
	}
	if err == nil { // it may have been switched on since the mount was made
		err = m.below(func() error { return p.RefuseNameCache(mounts) })
	}
	return cfg, p, err
}

// sayable refuses paths that are not UTF-8: what brings a mount back is JSON, and would bring back that of another path.
func sayable(paths ...string) error {
	for _, path := range paths {
		if !utf8.ValidString(path) {
			return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("%q is not UTF-8, so a mount of it could not be restored after a kill of its daemon", path),
				Next: "give it another name, or bind it to one (mount --bind), and mount that"}
		}
	}
	return nil
}

// withRules is the place with the rules of the configuration.
func withRules(cfg mountcfg.Config, p place.Place) (place.Place, error) {
	compiled, err := rules.Compile(cfg)
	if err != nil {
		return p, api.UsageError(err)
	}
	return p.WithRules(compiled)
}

// Main serves in the foreground, or starts the daemon and waits for it.
func (m *mountCommand) start(cmd *cobra.Command, args []string) error {
	if m.foreground {
		return m.daemonMain(cmd, args, func(error) error { return nil })
	}
	cfg, p, err := m.prepare(cmd, args)
	if err != nil {
		return err
	}
	if err := m.mayMount(cfg, p); err != nil {
		return err
	}
	done := mountedOf(cfg, p)
	if err := m.refuseStanding(done.Mountpoint); err != nil {
		return err
	}
	log, err := logging.Open(cfg)
	if err != nil {
		return err
	}
	defer host.CloseFile(log)
	if !m.asJSON {
		m.sayLayout(p)
		m.sayLocal(p)
		m.sayElsewhere(done)
		m.sayStore(p, cfg)
	}
	before, err := host.ReadMounts()
	if err != nil {
		return err
	}
	if err = m.serveInBackground(cmd.Context(), done.Mountpoint, log); err != nil {
		return err
	}
	m.sayByUser()
	m.sayCopies(before)
	m.sayLeftBehind()
	m.sayLocks(cfg)
	m.sayMetrics(cmd.Context(), cfg, done.Mountpoint)
	done.Hidden = m.sayHidden(p, done.Mountpoint)
	done.Beneath = m.sayBeneath(done.Mountpoint)
	if m.asJSON {
		return human.PrintJSON(m.io.Out, done)
	}
	return nil
}

// serveInBackground starts the daemon and waits until the mount serves. Ctrl-C ends the daemon.
func (m *mountCommand) serveInBackground(ctx context.Context, point string, log *os.File) error {
	ctx, stop := console.UntilSignal(ctx)
	defer stop()
	err := console.NewWaits(m.io, console.WaitsFor("the daemon to serve "+point)).During(ctx, func() error {
		return background.Start(ctx, os.Args[1:], log)
	})
	return console.Interrupted(err, lookup.MountNow(point))
}

// NeedRoot refuses everybody else.
func NeedRoot() error {
	if os.Geteuid() != 0 {
		return &api.Failure{Class: api.ClassDenied, Message: "mounting over a directory needs root", Next: "run it with sudo"}
	}
	return nil
}

// sayLayout tells what was chosen. Who has asked for a layout knows it.
func (m *mountCommand) sayLayout(p place.Place) {
	if p.Why != "" {
		fmt.Fprintf(m.io.Out, "layout %s: %s (%s)\n", p.Layout, human.Printable(p.Layout.Guards(p.Root)), human.Printable(p.Why))
	}
	for _, r := range p.Rules.Leases() {
		fmt.Fprintf(m.io.Out, "rule %s: each directory that %s matches has a lease of its own\n", r.Name, human.Printable(r.Guards[0]))
	}
}

// sayElsewhere names the worktrees of a git repository that stay unguarded.
func (m *mountCommand) sayElsewhere(done Mounted) {
	for _, dir := range done.Elsewhere {
		how := "jvsfs mount " + dir
		if above := host.CommonDir(done.Source, dir); above != "/" {
			how = fmt.Sprintf("jvsfs mount --repository %s %s, which has both", done.Source, above)
		}
		console.Note(m.io)(fmt.Sprintf("the worktree %s is not below %s, so it is not guarded; guard it with: %s", dir, done.Source, how))
	}
}

// sayMetrics warns if the new mount does not serve its metrics. Where it replaces another one, that has the
// address for a moment longer.
func (m *mountCommand) sayMetrics(ctx context.Context, cfg mountcfg.Config, point string) {
	if cfg.Metrics == "" || m.replace {
		return
	}
	at, err := lookup.JVSFSAt(point)
	if err != nil {
		return
	}
	if st := client.StatusOf(ctx, at); st.State == "serving" && st.Metrics == "" {
		console.Note(m.io)(fmt.Sprintf("metrics are not served at %s; next: ss -ltnp shows who listens there; the daemon tries again until it can", cfg.Metrics))
	}
}

func (m *mountCommand) sayLocal(p place.Place) {
	if p.Local {
		fmt.Fprintf(m.io.Out, "the lease records live in %s: the fence is local to this machine (--control DIR chooses another place)\n", p.LockDir)
	}
}

// sayStore says what a file system for several hosts means, or leases in etcd.
func (m *mountCommand) sayStore(p place.Place, cfg mountcfg.Config) {
	mounts, err := host.ReadMounts()
	if err != nil {
		return // the mount says so
	}
	if store := lockop.StoreOf(p, mounts, cfg); store != nil {
		fmt.Fprintln(m.io.Out, store.Text())
	}
}

// daemonMain is the daemon itself.
func (m *mountCommand) daemonMain(cmd *cobra.Command, args []string, ready func(error) error) (err error) {
	service := servicemanager.Find(m.foreground)
	defer func() { service.Ended(err) }()
	cfg, p, err := m.prepare(cmd, args)
	if err != nil {
		return err
	}
	if err := m.mayMount(cfg, p); err != nil {
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
		m.sayByUser()
		m.sayHidden(p, point)
		tell := ready
		ready = func(err error) error {
			m.sayBeneath(point)
			return tell(err)
		}
	}
	if err := background.Detach(); err != nil {
		return err
	}
	if err := background.DieBySignal(); err != nil {
		return err
	}
	background.RaisePriority()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	d, err := m.newDaemon(cmd.Context(), cfg, p, daemon.Outside{Log: log, Suppressed: left, Service: service, Replaced: m.replacedRules(), Off: ctx.Done(), Authorities: authoritiesOf(cfg)})
	if err != nil {
		return err
	}
	if m.forRuns || m.recovery != nil && m.recovery.State != nil && m.recovery.State.Runs {
		d.ForRuns()
	}
	err = d.Run(ctx, ready)
	if errors.Is(err, daemon.ErrStoreReturned) {
		err = m.followStore(ctx, err, cfg, p, d)
	}
	log.Info("ended", zap.Error(err))
	_ = log.Sync() // standard error cannot be synced, and says so
	return err
}

// logger is the log of the daemon and the count of what it leaves out.
func (m *mountCommand) logger(cfg mountcfg.Config) (*zap.Logger, *logging.Suppressed, error) {
	out := os.Stderr
	if !m.foreground || cfg.LogFile != "" {
		f, err := logging.Open(cfg)
		if err != nil {
			return nil, nil, err
		}
		out = f // kept for the life of the daemon
	}
	left := logging.NewSuppressed()
	log, err := logging.New(cfg, out, left)
	return log, left, err
}

// sayHidden names the file systems inside of the source that the mount does not show.
func (m *mountCommand) sayHidden(p place.Place, point string) []string {
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil
	}
	all := mounts.HiddenIn(p.Root)
	if len(all) == 0 {
		return nil
	}
	console.Note(m.io)(fmt.Sprintf("the file systems that are mounted inside of %s are not part of the mount: %s; writes to those places through %s go to the directories that they cover. "+
		"Unmount them first, or mount them again at their places in %s", p.Root, host.HiddenText(all), point, point))
	out := make([]string, 0, len(all))
	for _, h := range all {
		out = append(out, h.Mountpoint)
	}
	return out
}
