package fencecheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/flags"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/fenceagent"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// fenceCheck proves on the spot that a fence agent does what it says.
type fenceCheck struct {
	io                         console.Streams
	config, node, client, also string
	wait                       time.Duration
	asJSON                     bool
}

// checkedFence is what `fence-check --json` prints when the agent does what it says; the names are a promise.
type checkedFence struct {
	CutOff bool   `json:"cut_off"`
	Agent  string `json:"agent"`
	Node   string `json:"node"`
	Client string `json:"store_client"`
}

// New is jvsfs fence-check.
func New(io console.Streams) *cobra.Command {
	f := &fenceCheck{io: io}
	cmd := &cobra.Command{
		Use:   "fence-check DIR --config FILE",
		Short: "Prove that the fence agent of a configuration cuts a client off the store",
		Long: `Prove that the fence agent of a configuration cuts a client off the store.

DIR is on a client of the store that you can spare: mount the store once more, as a
host of its own (--node), and use it for nothing else. fence-check writes a file
there, runs the agent for this client, and writes to the open file again. The
second write must fail. Nothing lets the client in again.`,
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: console.Interruptible(func(ctx context.Context, args []string) error { return f.run(ctx, args[0]) }),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "the configuration `FILE` that names the agent")
	fs.StringVar(&f.node, "node", "", "the host `NAME` that the client belongs to (default: this host)")
	fs.StringVar(&f.client, "client", "", "what the store calls the client, its `ID` (default: found out)")
	fs.StringVar(&f.also, "see", "", "DIR as another client of the store shows it, at `PATH`: there, too, the second write must not show")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
	fs.DurationVar(&f.wait, "wait", 3*time.Minute, "the second write must fail within this `LONG`")
	return cmd
}

func (f *fenceCheck) run(ctx context.Context, dir string) error {
	agent, target, err := f.prepare(dir)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, fmt.Sprintf(".jvsfs-fence-check.%d", os.Getpid()))
	w, err := startWriter(file)
	if err != nil {
		return err
	}
	defer w.end()
	if err := w.write(); err != nil {
		return fmt.Errorf("the client cannot write before it is cut off: %w", err)
	}
	f.say("wrote to %s\n", file)
	if err := agent.Off(ctx, target); err != nil {
		return &api.Failure{Message: "the agent failed: " + err.Error(), Err: err, Next: "try it by hand, then again"}
	}
	f.say("%s says that client %q of %s is cut off\n", agent, target.Client, target.Node)
	if err := w.refused(ctx, f.wait); err != nil {
		return err
	}
	if f.also != "" {
		st, err := os.Stat(filepath.Join(f.also, filepath.Base(file)))
		if err != nil || st.Size() != checkBlock {
			return &api.Failure{Message: fmt.Sprintf("another client does not see exactly the first write at %s", f.also), Err: err, Next: "do not use this agent"}
		}
	}
	f.say("its next write failed: the agent does what it says\n")
	if f.asJSON {
		return human.PrintJSON(f.io.Out, checkedFence{true, agent.String(), target.Node, target.Client})
	}
	return nil
}

func (f *fenceCheck) say(format string, args ...any) {
	if !f.asJSON {
		fmt.Fprintf(f.io.Out, format, args...)
	}
}

// prepare reads the configuration, and finds out who is to be cut off.
func (f *fenceCheck) prepare(dir string) (agent fenceagent.Agent, t fenceagent.Target, err error) {
	cfg, err := mountcfg.Resolve(f.config, nil, rules.Check)
	if err != nil {
		return agent, t, api.UsageError(err)
	}
	if len(cfg.Fence) == 0 {
		return agent, t, api.Usagef("the configuration names no fence agent: give --config FILE with a line fence: [PROGRAM, …]")
	}
	if err := flags.MayFence(cfg); err != nil {
		return agent, t, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return agent, t, api.NoPath(dir, err)
	}
	defer host.CloseFile(d)
	t = fenceagent.Target{Node: f.node, Client: f.client, Worktree: "fence-check"}
	if t.Node == "" {
		if t.Node, err = os.Hostname(); err != nil {
			return agent, t, err
		}
	}
	if t.Client == "" {
		mounts, err := host.ReadMounts()
		if err != nil {
			return agent, t, err
		}
		_, m, err := host.Resolve(dir, mounts)
		if err != nil {
			return agent, t, err
		}
		if m != nil {
			t.Client = fenceagent.ClientOf(int(d.Fd()), m.FSType)
		}
	}
	return fenceagent.Agent{Command: cfg.Fence}, t, nil
}

// checkBlock is how much each write has.
const checkBlock = 512

// writer is a process that keeps a file open and writes a block of it at a time, each to the store. A write may hang: then it is the
// process that does, and can be left.
type writer struct {
	cmd  *exec.Cmd
	in   *os.File
	said bytes.Buffer
	over chan error // how it ended
	file string
}

func startWriter(file string) (*writer, error) {
	w := &writer{file: file, over: make(chan error, 1)}
	r, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer host.CloseFile(r)
	w.in = in
	w.cmd = exec.Command("dd", "of="+file, fmt.Sprintf("bs=%d", checkBlock), "iflag=fullblock", "oflag=dsync", "status=none")
	w.cmd.Stdin, w.cmd.Stderr, w.cmd.Dir, w.cmd.WaitDelay = r, &w.said, "/", time.Second
	if err := w.cmd.Start(); err != nil {
		host.CloseFile(in)
		return nil, err
	}
	go func() { w.over <- w.cmd.Wait() }()
	return w, nil
}

// write writes the first block. It is there when write returns.
func (w *writer) write() error {
	if _, err := w.in.Write(make([]byte, checkBlock)); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-w.over:
			w.over <- err
			return fmt.Errorf("dd: %w: %s", err, bytes.TrimSpace(w.said.Bytes()))
		default:
		}
		if st, err := os.Stat(w.file); err == nil && st.Size() == checkBlock {
			return nil
		}
	}
	return errors.New("it takes longer than a minute")
}

// refused writes the second block, which must fail in time.
func (w *writer) refused(ctx context.Context, wait time.Duration) error {
	_, _ = w.in.Write(make([]byte, checkBlock)) // dd says whether it arrived
	_ = w.in.Close()
	t := time.NewTimer(wait)
	defer t.Stop()
	next := "do not use this agent"
	select {
	case err := <-w.over:
		w.over <- err
		if err == nil {
			return &api.Failure{Message: "the client wrote after the agent had said that it is cut off", Next: next}
		}
		return nil
	case <-t.C:
		return &api.Failure{Message: fmt.Sprintf("the write after the cut had no end within %v, so it may still arrive", wait), Next: next}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// End leaves nothing, if the store lets it.
func (w *writer) end() {
	_ = w.in.Close()
	_ = w.cmd.Process.Kill()
	select {
	case <-w.over: //nolint:errcheck // it was killed
	case <-time.After(5 * time.Second):
	}
	_ = os.Remove(w.file) // where the client is cut off it stays
}
