package agents

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/mcp"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// mcpCommand is `mcp`.
type mcpCommand struct {
	io    console.Streams
	pid   int
	scope string
}

// NewMCP is jvsfs mcp.
func NewMCP(io console.Streams) *cobra.Command {
	m := &mcpCommand{io: io}
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve the Model Context Protocol, so that coding agents ask before they write",
		Long: `Serve the Model Context Protocol on standard input and output. The tools are status,
explain, acquire, release, wait and handover.

A harness of coding agents starts this command, and its process then holds what is
acquired: the process that started this command, with its descendants. When this
command ends, it gives back the leases that it took.`,
		Args: usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context()) },
	}
	cmd.Flags().IntVar(&m.pid, "pid", 0, "the process `N` that is to hold the leases (default: the one that started this command)")
	cmd.Flags().StringVar(&m.scope, "scope", "", "`WHO` counts as the holder: tree, session, user, cgroup or mount (default: as configured, or tree)")
	return cmd
}

func (m *mcpCommand) run(ctx context.Context) error {
	if m.pid < 0 {
		return api.Usagef("--pid must not be negative")
	}
	if _, err := gate.ParseScope(m.scope); err != nil {
		return api.Usagef("%v", err)
	}
	out, ok := m.io.Out.(*os.File)
	if !ok || console.IsTerminal(m.io.In) {
		return &api.Failure{Class: api.ClassUsage, Message: "standard input is a terminal, and mcp talks to the harness of an agent there",
			Next: "let the harness start it: see jvsfs-agents(7)"}
	}
	cfg := mcp.Config{Agent: m.pid, Named: m.pid != 0, Scope: m.scope, Version: api.Version()}
	if !cfg.Named {
		pid, err := host.CallerProcess()
		if err != nil {
			return err
		}
		cfg.Agent = pid
	}
	pidfd, err := process.OpenPidfd(cfg.Agent)
	if err != nil {
		return api.NoProcess(cfg.Agent, err)
	}
	defer host.CloseFile(pidfd)
	cfg.Pinned = pidfd
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return mcp.Serve(ctx, cfg, m.io.In, out)
}
