package cli

import (
	"context"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/sibling"
)

// Main runs the command line of this process, as a command or as a helper of mount(8), and returns its exit code. release is what the
// packager calls the build.
func Main(release string) api.ExitCode {
	p := Program{started: sibling.Begin(), Streams: console.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}}
	api.ReleaseName = release
	if helper := helperOf(os.Args); helper != nil {
		return helper(context.Background(), os.Args[1:], p)
	}
	return execute(context.Background(), os.Args[1:], p)
}
