package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/agents"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/audit"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/child"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/config"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/docs"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/doctor"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/exec"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/explain"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/exporter"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/fencecheck"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/layout"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/lock"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/mount"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/quiesce"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/rules"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/run"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/status"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
)

// NewRoot builds the command tree.
func NewRoot(p Program) *cobra.Command {
	io := p.Streams
	root := &cobra.Command{
		Use:   "jvsfs",
		Short: "A file system that lets only the holder of the lease write",
		Long: `jvsfs mounts a JVS repository, one of its worktrees, or any directory. Through the
mount, only the holder of the lease can write. Everybody can read.

` + exitCodes() + `.`,
		Version:       api.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usage.Args(cobra.NoArgs),
		RunE:          usage.ShowHelp,

		PersistentPreRunE: usage.RefuseEmptyValues,
	}
	root.SetOut(io.Out)
	root.SetErr(io.Err)
	root.SetIn(io.In)
	root.AddCommand(newVersion(io))
	root.SetHelpCommand(newHelp())
	root.AddCommand(
		config.New(io),
		mount.New(io, p.started), mount.NewUmount(io), lock.New(io), exec.New(io), run.New(io), quiesce.New(io), mount.NewEnforce(io),
		status.New(io), status.NewWatch(io), status.NewTop(io), explain.New(io), agents.NewHook(io), agents.NewMCP(io), exporter.New(io), layout.New(io), rules.New(io), doctor.New(io), fencecheck.New(io), audit.New(io), child.NewTrampoline(io), newGuardian(),
		mount.NewRecover(io), newProbe(), exec.NewNotifier(),
	)
	root.AddCommand(docs.Commands(func() *cobra.Command { return NewRoot(p) })...)
	addExamples(root)
	addCompletions(root)
	return root
}

// exitCodes is the table of exit codes as one sentence.
func exitCodes() string {
	const width = 80
	text, line := "", "Exit codes:"
	for i, row := range api.Exits {
		item := fmt.Sprintf(" %d %s", row.Code, row.Brief)
		if i < len(api.Exits)-1 {
			item += ","
		}
		if len(line)+len(item) > width {
			text, line = text+line+"\n", strings.TrimSpace(item)
			continue
		}
		line += item
	}
	return text + line
}
