package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// helpFor is where the help about a mistake is.
func helpFor(cmd *cobra.Command, f *api.Failure) string {
	if _, ok := errors.AsType[*mountcfg.FileError](f.Err); ok {
		return "correct the file: man jvsfs.yaml describes each key, jvsfs config check shows the mistakes"
	}
	return cmd.CommandPath() + " --help"
}

// execute runs one command line and returns its exit code; everything that can
// go wrong comes through here.
func execute(ctx context.Context, args []string, p Program) api.ExitCode {
	root := NewRoot(p)
	root.SetArgs(args)
	root.SetFlagErrorFunc(usage.FlagFailure(args))
	refuseOtherShells(root)
	cmd, err := root.ExecuteContextC(ctx)
	f := api.AsFailure(err)
	if f == nil {
		return api.ExitOK
	}
	if f.Class == api.ClassUsage && f.Next == "" {
		f.Next = helpFor(cmd, f)
	}
	usage.TypeAgain(f, args)
	asJSON := false
	if flag := cmd.Flags().Lookup("json"); flag != nil {
		asJSON = flag.Value.String() == "true"
	}
	api.PrintFailure(p.Out, p.Err, f, asJSON)
	console.DieOfKey(f)
	if f.Signal != 0 {
		console.DieOf(f.Signal)
	}
	return f.Exit()
}
