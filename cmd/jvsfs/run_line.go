package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/sibling"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// program is a run of jvsfs: its streams, and what the process was started with.
type program struct {
	stdio
	started sibling.Start
}

// start runs the command line of this process, as a command or as a helper of mount(8), and returns its exit code. release is what the
// packager calls the build.
func start(release string) api.ExitCode {
	p := program{started: sibling.Begin(), stdio: stdio{os.Stdin, os.Stdout, os.Stderr}}
	api.ReleaseName = release
	if helper := helperOf(os.Args); helper != nil {
		return helper(context.Background(), os.Args[1:], p)
	}
	return run(context.Background(), os.Args[1:], p)
}

// helpFor is where the help about a mistake is.
func helpFor(cmd *cobra.Command, f *api.Failure) string {
	if _, ok := errors.AsType[*mountcfg.FileError](f.Err); ok {
		return "correct the file: man jvsfs.yaml describes each key, jvsfs config check shows the mistakes"
	}
	return cmd.CommandPath() + " --help"
}

// stdio are the streams of a command.
type stdio struct {
	in       *os.File
	out, err io.Writer
}

// run executes one command line and returns its exit code; everything that can
// go wrong comes through here.
func run(ctx context.Context, args []string, p program) api.ExitCode {
	root := newRoot(p)
	root.SetArgs(args)
	root.SetFlagErrorFunc(flagFailure(args))
	refuseOtherShells(root)
	cmd, err := root.ExecuteContextC(ctx)
	f := api.AsFailure(err)
	if f == nil {
		return api.ExitOK
	}
	if f.Class == api.ClassUsage && f.Next == "" {
		f.Next = helpFor(cmd, f)
	}
	typeAgain(f, args)
	asJSON := false
	if flag := cmd.Flags().Lookup("json"); flag != nil {
		asJSON = flag.Value.String() == "true"
	}
	api.PrintFailure(p.out, p.err, f, asJSON)
	dieOfKey(f)
	if f.Signal != 0 {
		dieOf(f.Signal)
	}
	return f.Exit()
}
