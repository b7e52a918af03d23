package agents

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// hookCommand is `hook`, which a harness of agents runs before each edit.
type hookCommand struct {
	io       console.Streams
	pid      int
	commands bool
	asJSON   bool
}

// hookRefused is the one exit code by which harnesses know a refusal. So nothing else of this command may end
// with it, usage included: a mistake in a configuration must not stop the agent's work. The mount refuses
// the write anyway.
const hookRefused = api.ExitUsage

// hookPatience bounds the question to the daemons, below the patience of every harness.
const hookPatience = 20 * time.Second

// hookDecision is what `hook --json` prints; the names are a promise.
type hookDecision struct {
	Allowed bool              `json:"allowed"`
	Tool    string            `json:"tool_name,omitempty"`
	Paths   []api.Explanation `json:"paths"`
}

// NewHook is jvsfs hook.
func NewHook(io console.Streams) *cobra.Command {
	h := &hookCommand{io: io}
	cmd := &cobra.Command{
		Use: "hook [PATH...]", Short: "Tell an agent's harness whether an edit would be refused",
		Long: `Decide about an edit before it is made, as explain does. Harnesses of coding agents run
this before each edit. Without PATH it reads the harness's event as JSON from standard
input: tool_name, tool_input with the path, and cwd.

It decides for the process that runs it, or for the agent above that: the write would
pass if it passes for one of them. It takes no lease.

The exit code is 0 if all writes would pass, or if the paths are on no jvsfs mount. It is
2 if one would be refused; then standard error says why and what to do. It is 1 if that
could not be found out, whatever the reason. Harnesses refuse the edit at 2 alone, and
then show standard error to the agent.`,
		RunE: func(cmd *cobra.Command, args []string) error { return neverRefused(h.run(cmd.Context(), args)) },
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return neverRefused(cmd.Parent().FlagErrorFunc()(cmd, err))
	})
	cmd.Flags().IntVar(&h.pid, "pid", 0, "decide for process `N`")
	cmd.Flags().BoolVar(&h.commands, "commands", false, "also refuse a command whose working directory it may not write to")
	cmd.Flags().BoolVar(&h.asJSON, "json", false, "print the decision as JSON")
	return cmd
}

// neverRefused makes every failure another one than a refusal: one exit code for all.
func neverRefused(err error) error {
	f := api.AsFailure(err)
	if f == nil || errors.Is(err, errRefusedByHook) {
		return err
	}
	f.Code = api.ExitError
	return f
}

var errRefusedByHook = errors.New("the edit is refused")

func (h *hookCommand) run(ctx context.Context, args []string) (err error) {
	defer func() {
		if r := recover(); r != nil { // the runtime would end with 2, which is a refusal
			err = fmt.Errorf("a mistake in jvsfs hook: %v", r)
		}
	}()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	d := hookDecision{Allowed: true, Paths: []api.Explanation{}}
	paths, err := h.paths(args, &d)
	if err != nil {
		return err
	}
	who, err := h.candidates()
	if err != nil {
		return err
	}
	var failed error
	for _, path := range paths {
		x, err := decide(ctx, path, who)
		failed = errors.Join(failed, err)
		if err == nil && x.Mounted {
			d.Allowed, d.Paths = d.Allowed && x.Allowed, append(d.Paths, x)
		}
	}
	if d.Allowed && failed != nil {
		return failed
	}
	return h.answer(d)
}

// paths are the arguments, or else what the event on standard input is about.
func (h *hookCommand) paths(args []string, d *hookDecision) ([]string, error) {
	if h.pid < 0 {
		return nil, api.Usagef("--pid must not be negative")
	}
	if len(args) > 0 {
		return args, nil
	}
	if console.IsTerminal(h.io.In) {
		return nil, notAnEvent("it is a terminal")
	}
	ev, err := readHookEvent(h.io.In)
	if err != nil {
		return nil, err
	}
	d.Tool = ev.Tool
	found := ev.paths(h.commands)
	slices.Sort(found)
	return slices.Compact(found), nil
}

// candidates are the processes for which a write may pass. A harness runs its hooks through a shell, which may
// be in a session of its own; the agent is the first process above that is none.
func (h *hookCommand) candidates() ([]api.Process, error) {
	if h.pid != 0 {
		return []api.Process{{PID: h.pid, Explicit: true}}, nil
	}
	own, err := host.AskingProcess()
	if err != nil {
		return nil, err
	}
	who := []api.Process{{PID: own}}
	if agent := host.AgentProcess(); agent != 0 {
		who = append(who, api.Process{PID: agent})
	}
	return who, nil
}

// decide explains for each candidate until a write would pass. On no mount, nothing is refused.
func decide(ctx context.Context, path string, who []api.Process) (x api.Explanation, err error) {
	t, err := client.Find(ctx, path, "")
	if t.Mount == nil {
		if t.Path != "" {
			err = nil // it has no records
		}
		return api.Explanation{}, err
	}
	for _, p := range who {
		if x, err = client.Explain(ctx, t, p); err != nil || x.Allowed {
			return x, err
		}
	}
	return x, err
}

func (h *hookCommand) answer(d hookDecision) error {
	if h.asJSON {
		if err := human.PrintJSON(h.io.Out, d); err != nil {
			return err
		}
	}
	if d.Allowed {
		return nil
	}
	fmt.Fprint(h.io.Err, refusalText(d.Paths))
	f := api.ExitWith(hookRefused)
	f.Err = errRefusedByHook
	return f
}

// refusalText is what the agent reads. Paths of one worktree that are refused alike stand together.
func refusalText(all []api.Explanation) string {
	type kind struct{ mountpoint, worktree, class, next string }
	var order []kind
	alike := map[kind][]api.Explanation{}
	for _, x := range all {
		if x.Allowed {
			continue
		}
		k := kind{x.Mountpoint, string(x.Worktree), string(x.Class), x.Next}
		if alike[k] == nil {
			order = append(order, k)
		}
		alike[k] = append(alike[k], x)
	}
	var b strings.Builder
	for _, k := range order {
		x := alike[k][0]
		f := api.Failure{Class: x.Class, Next: x.Next,
			Message: fmt.Sprintf("a write to %s would be refused: %s", pathsText(alike[k]), x.Sentence)}
		b.WriteString(api.FailureText(&f))
	}
	return b.String()
}

// pathsText names the first paths, and counts the others.
func pathsText(all []api.Explanation) string {
	const most = 3
	var names []string
	for _, x := range all[:min(most, len(all))] {
		names = append(names, x.Path)
	}
	text := strings.Join(names, ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
