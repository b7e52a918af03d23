package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/jvsfs/jvsfs/mountcfg"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

const logDir = "/var/log/jvsfs"

type mountCommand struct {
	asJSON     bool
	io         stdio
	settings   settings
	foreground bool
	background bool // this process is the daemon that another one waits for
	recover    bool
	replace    bool
	state      string    // the device whose daemon left the configuration, "" for none
	recovery   *recovery // what prepare has found
}

func newMountCommand(io stdio) *cobra.Command { return (&mountCommand{io: io}).command() }

func (m *mountCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mount SOURCE [MOUNTPOINT]",
		Short: "Mount SOURCE, in place or at MOUNTPOINT, and return when it serves",
		Long: `Mount SOURCE, in place or at MOUNTPOINT, and return when it serves.

SOURCE is a JVS repository (it has .jvs; main and worktrees/NAME are guarded each
on its own), one worktree of a repository, or any directory. The records of a
plain directory live in --control, or else below ` + defaultControlRoot + `.
A tree has one set of records: while the directory, one above or one below is served
with others, mounting fails and names that mount.

By mount(8), or a line of fstab, the type is ` + fsType + ` and the options are those of -o.

Ending the daemon by SIGTERM or SIGINT unmounts. While the mount is busy it
releases what is held and leaves a dead mount, which refuses everything.`,
		Args: usageArgs(cobra.RangeArgs(0, 2)),
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd, args) },
	}
	m.settings.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&m.asJSON, "json", false, "print JSON when it serves")
	cmd.Flags().BoolVar(&m.foreground, "foreground", false, "stay, and log to standard error")
	m.addRecoverFlags(cmd.Flags())
	return cmd
}

func (m *mountCommand) run(cmd *cobra.Command, args []string) error {
	m.background = isBackground()
	if !m.background {
		return m.start(cmd, args)
	}
	w := os.NewFile(readyFD, "ready")
	syscall.CloseOnExec(readyFD)
	told := false
	err := m.daemonMain(cmd, args, func(err error) error { told = true; return reportReady(w, err) })
	if err != nil && !told {
		return errors.Join(err, reportReady(w, err))
	}
	return err
}

// prepare resolves the configuration and the source.
func (m *mountCommand) prepare(cmd *cobra.Command, args []string) (mountcfg.Config, place, error) {
	cfg, err := m.configuration(cmd, args)
	if err != nil {
		return cfg, place{}, err
	}
	if cfg.Source == "" {
		return cfg, place{}, usagef("nothing to mount: name a SOURCE")
	}
	mounts, err := readMounts()
	if err != nil {
		return cfg, place{}, err
	}
	if err := m.resolvePaths(cmd.Context(), &cfg, mounts); err != nil {
		return cfg, place{}, err
	}
	if err := cfg.Validate(); err != nil {
		return cfg, place{}, usageError(err)
	}
	p, err := m.sourceOf(cfg)
	return cfg, p, err
}

func usageError(err error) *failure {
	return &failure{Class: classUsage, Message: err.Error(), Next: "see jvsfs mount --help", err: err}
}

// resolvePaths follows symbolic links in source and mount point, and refuses what
// is on a jvsfs mount already, unless it is a dead one that is to come back.
func (m *mountCommand) resolvePaths(ctx context.Context, cfg *mountcfg.Config, mounts mountTable) error {
	for _, path := range []*string{&cfg.Source, &cfg.Mountpoint} {
		if *path == "" {
			continue
		}
		resolved, on, err := resolve(*path, mounts)
		if err != nil {
			return err
		}
		if (m.recover || m.replace) && isJVSFS(on) && on.Mountpoint == resolved {
			if m.recovery, err = m.find(ctx, mounts, resolved); err != nil {
				return err
			}
			*path = resolved
			continue
		}
		if isJVSFS(on) {
			return &failure{
				Class: classUsage, Message: fmt.Sprintf("%s is on the jvsfs mount at %s already", *path, on.Mountpoint),
				Next: "see jvsfs status; jvsfs umount " + on.Mountpoint,
			}
		}
		*path = resolved
	}
	if cfg.Mountpoint == cfg.Source {
		cfg.Mountpoint = ""
	}
	if m.replace && m.recovery == nil {
		return usagef("there is no jvsfs mount to replace at %s", cmp.Or(cfg.Mountpoint, cfg.Source))
	}
	if m.recovery != nil && m.recovery.point != cmp.Or(cfg.Mountpoint, cfg.Source) {
		return usagef("%s is a dead jvsfs mount: recover that first (jvsfs recover %s)", m.recovery.point, m.recovery.point)
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
	log, err := openLog(cfg)
	if err != nil {
		return err
	}
	defer closeFile(log)
	if !m.asJSON {
		m.sayLocal(p)
	}
	before, err := readMounts()
	if err != nil {
		return err
	}
	if err = startInBackground(os.Args[1:], log); err != nil {
		return err
	}
	m.sayCopies(before)
	m.sayLocks(cfg)
	done := mountedOf(cfg, p)
	done.Hidden = m.sayHidden(p, done.Mountpoint)
	if m.asJSON {
		return printJSON(m.io.out, done)
	}
	return nil
}

// mounted is what `mount --json` prints; the names are those of `status --json`.
type mounted struct {
	Mountpoint string   `json:"mountpoint"`
	Source     string   `json:"source"`
	Shape      shape    `json:"shape"`
	Locks      string   `json:"locks"`
	Local      bool     `json:"local,omitempty"`
	Hidden     []string `json:"hidden,omitempty"` // mounts inside of the source that are no part of it
}

func mountedOf(cfg mountcfg.Config, p place) mounted {
	return mounted{Mountpoint: cmp.Or(cfg.Mountpoint, p.Root), Source: p.Root, Shape: p.Shape, Locks: p.LockDir, Local: p.Local}
}

func needRoot() error {
	if os.Geteuid() != 0 {
		return &failure{Class: classDenied, Message: "mounting over a directory needs root", Next: "run it with sudo"}
	}
	return nil
}

func (m *mountCommand) sayLocal(p place) {
	if p.Local {
		fmt.Fprintf(m.io.out, "the lease records live in %s: the fence is local to this machine (--control DIR chooses another place)\n", p.LockDir)
	}
}

// daemonMain is the daemon itself.
func (m *mountCommand) daemonMain(cmd *cobra.Command, args []string, ready func(error) error) (err error) {
	service := takeService(m.foreground)
	defer func() { service.ended(err) }()
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
		m.sayLocal(p)
		m.sayHidden(p, mountedOf(cfg, p).Mountpoint)
	}
	service.log = log
	if err := detach(); err != nil {
		return err
	}
	if err := dieBySignal(); err != nil {
		return err
	}
	raisePriority()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	d, err := m.newDaemon(cmd.Context(), cfg, p, log)
	if err != nil {
		return err
	}
	d.service = service
	d.suppressed = left
	err = d.run(ctx, ready)
	log.Info("ended", zap.Error(err))
	_ = log.Sync() // standard error cannot be synced, and says so
	return err
}

// dieBySignal makes a panic end by SIGABRT: its exit status is that of a wrong command line,
// after which no unit starts again. No core is dumped, be it to a pipe (core(5)): everybody
// on the mount would wait for that, and what they write would be in it.
func dieBySignal() error {
	debug.SetTraceback("crash")
	return os.NewSyscallError("setrlimit", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}))
}

// openLog opens the log file of a daemon, append only.
func openLog(cfg mountcfg.Config) (*os.File, error) {
	name := cfg.LogFile
	if name == "" {
		if err := os.MkdirAll(logDir, 0o750); err != nil {
			return nil, err
		}
		name = filepath.Join(logDir, logName(cfg.Source))
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
}

// logger is the log of the daemon and the count of what it leaves out.
func (m *mountCommand) logger(cfg mountcfg.Config) (*zap.Logger, *suppressed, error) {
	out := os.Stderr
	if !m.foreground || cfg.LogFile != "" {
		f, err := openLog(cfg)
		if err != nil {
			return nil, nil, err
		}
		out = f // kept for the life of the daemon
	}
	left := newSuppressed()
	log, err := newLogger(cfg, out, left)
	return log, left, err
}
