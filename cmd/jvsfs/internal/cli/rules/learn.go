package rules

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/child"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lookup"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/learn"
	"github.com/jvsfs/jvsfs/lease"
)

// learnCommand is `rules learn`.
type learnCommand struct {
	io   console.Streams
	runs int
	json bool
}

// learnedView is what `rules learn --json` prints; the names are a promise.
type learnedView struct {
	YAML   string   `json:"yaml"`
	Ranges []string `json:"ranges,omitempty"`
	Maybe  []string `json:"maybe,omitempty"`
}

func newLearn(io console.Streams) *cobra.Command {
	c := &learnCommand{io: io}
	cmd := &cobra.Command{
		Use: "learn DIR -- CMD [ARG...]", Short: "Watch what CMD locks below DIR, and propose rules",
		Long: `Run CMD, watch what it and all it starts make, lock and remove below DIR, and propose
rules for the lock files: a file for jvsfs rules test and mount --rules. Read it before
you use it: it says what it rests on, and what cannot be seen.

Only CMD and what it starts are watched: they see DIR through a mount of their own, and
nobody else does. What CMD leaves running loses DIR when CMD ends. More runs tell
temporary files from locks. Only root may do this; DIR is on no jvsfs mount.

What CMD prints goes to stderr: the proposal is all that stdout has. The exit code is
that of CMD, or 128+N if signal N ended it; 12 if CMD ended well and no lock file was
seen.`,
		Args: usage.PlaceAndCommand,
		RunE: func(_ *cobra.Command, args []string) error { return c.run(args[0], args[1:]) },
	}
	cmd.Flags().IntVar(&c.runs, "runs", 1, "run CMD `N` times")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *learnCommand) run(path string, argv []string) error {
	dir, err := c.check(path)
	if err != nil {
		return err
	}
	var events []learn.Event
	all, code := true, api.ExitOK
	done := make(chan struct{})
	go host.OnThreadOfItsOwn(func() {
		defer close(done)
		events, all, err = learn.Watch(dir, func() (err error) {
			for i := 0; i < c.runs && code == api.ExitOK && err == nil; i++ {
				code, err = c.once(argv)
			}
			return err
		})
	})
	<-done
	if err != nil {
		return err
	}
	if !all {
		console.Note(c.io)(fmt.Sprintf("only the first %d changes were looked at", learn.EventsMax))
	}
	return c.propose(learn.Find(events), dir, code)
}

func (c *learnCommand) check(path string) (string, error) {
	if c.runs < 1 || c.runs > 1000 {
		return "", api.Usagef("--runs %d: from 1 to 1000", c.runs)
	}
	if os.Geteuid() != 0 {
		return "", &api.Failure{Class: api.ClassDenied, Message: "only root may watch a command: it needs a mount of its own", Next: "sudo jvsfs rules learn"}
	}
	mounts, err := host.ReadMounts()
	if err != nil {
		return "", err
	}
	dir, on, err := host.Resolve(path, mounts)
	if err != nil {
		return "", err
	}
	if host.IsJVSFS(on) {
		return "", &api.Failure{Class: api.ClassUsage, Message: dir + " is on a jvsfs mount", Next: "jvsfs umount " + human.Typed(on.Mountpoint)}
	}
	return dir, lookup.MustBeDirectory(dir)
}

// once runs CMD to its end. Its directory is looked up anew, so that it is below the mount if it is below DIR.
func (c *learnCommand) once(argv []string) (api.ExitCode, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr // the proposal has stdout for itself
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if cmd.Dir, err = os.Getwd(); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 16)
	console.Hear(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err = cmd.Start(); err != nil {
		f := &api.Failure{Code: api.ExitNotRun, Message: err.Error()}
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			f.Code = api.ExitNotFound
		}
		return 0, f
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with CMD
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended
		case err = <-ended:
			if exited, is := errors.AsType[*exec.ExitError](err); is {
				return child.ExitCodeOf(exited.Sys().(syscall.WaitStatus)), nil
			}
			return api.ExitOK, err
		}
	}
}

func (c *learnCommand) propose(found learn.Found, dir string, code api.ExitCode) error {
	for _, name := range found.Ranges() {
		console.Note(c.io)(human.Printable(name) + ": ranges of it were locked with fcntl, which a rule cannot tell")
	}
	switch {
	case found.Any() && c.json:
		if err := human.PrintJSON(c.io.Out, learnedView{YAML: found.Text(), Ranges: found.Ranges(), Maybe: found.Maybe()}); err != nil {
			return err
		}
	case found.Any():
		fmt.Fprint(c.io.Out, found.Text())
	}
	switch {
	case code != api.ExitOK:
		console.Note(c.io)("the command has failed: what it would have done is not in the proposal")
		return api.ExitWith(code)
	case found.Any():
		return nil
	}
	f := &api.Failure{Class: lease.ClassLockNotHeld, Message: "no lock file was seen below " + dir, Next: "let the command do all that it does; --runs 2 tells temporary files from locks"}
	if maybe := found.Maybe(); len(maybe) > 0 {
		f.Message += "; these names came and went once: " + human.Printable(strings.Join(maybe, ", "))
	}
	return f
}
