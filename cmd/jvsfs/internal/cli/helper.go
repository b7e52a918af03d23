package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// mount(8) and umount(8) run a program that is named after the type of the file system:
// /sbin/mount.fuse.jvsfs SPEC DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE], see "EXTERNAL
// HELPERS" of both manuals. Links with these names lead here. Where they are not installed
// mount(8) finds the mount.fuse of libfuse, which runs "jvsfs SPEC DIR -o OPTIONS" by a shell.
var helpers = map[string]func(context.Context, []string, Program) api.ExitCode{
	"mount." + host.FSType: mountHelper, "mount." + usage.ProgramName: mountHelper,
	"umount." + host.FSType: umountHelper, "umount." + usage.ProgramName: umountHelper,
}

// helperOf finds out whether a command line is that of mount(8) or umount(8).
func helperOf(argv []string) func(context.Context, []string, Program) api.ExitCode {
	if h := helpers[filepath.Base(argv[0])]; h != nil {
		return h
	}
	if len(argv) > 1 && filepath.IsAbs(argv[1]) { // no command of ours begins with a slash
		return mountHelper
	}
	return nil
}

// The exit codes of mount(8) and umount(8).
const (
	mountUsage  = 1 // incorrect invocation or permissions
	mountFailed = 32
)

// helperCall is a command line of mount(8) or umount(8).
type helperCall struct {
	args      []string // SPEC and DIR, or DIR
	options   []string
	fsType    string
	namespace string

	sloppy, fake, verbose, readonly bool
	lazy, force                     bool
}

// parseHelperCall reads the command line of a helper called name, which takes count
// arguments.
func parseHelperCall(name string, count int, argv []string) (*helperCall, error) {
	c := &helperCall{}
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.Usage = func() {}
	fs.StringArrayVarP(&c.options, "options", "o", nil, "")
	fs.StringVarP(&c.fsType, "types", "t", "", "")
	fs.StringVarP(&c.namespace, "namespace", "N", "", "")
	fs.BoolVarP(&c.sloppy, "sloppy", "s", false, "")
	fs.BoolVarP(&c.fake, "fake", "f", false, "")
	fs.BoolP("no-mtab", "n", false, "")
	fs.BoolVarP(&c.verbose, "verbose", "v", false, "")
	fs.BoolVarP(&c.readonly, "read-only", "r", false, "")
	fs.BoolP("rw", "w", false, "")
	fs.BoolVarP(&c.lazy, "lazy", "l", false, "")
	if err := fs.Parse(argv); errors.Is(err, pflag.ErrHelp) {
		return nil, helperUsage(name, "is called by mount(8) or umount(8)")
	} else if err != nil {
		return nil, helperUsage(name, err.Error())
	}
	c.force = c.fake // -f is --force to umount(8)
	c.args = fs.Args()
	return c, c.check(name, count)
}

func helperUsage(name, message string) *api.Failure {
	return &api.Failure{
		Class: api.ClassUsage, Message: name + ": " + message,
		Next: "mount -t " + host.FSType + " [-o OPTIONS] SOURCE MOUNTPOINT, umount MOUNTPOINT; or see " + usage.ProgramName + " --help",
	}
}

func (c *helperCall) check(name string, count int) error {
	switch {
	case len(c.args) != count:
		return helperUsage(name, fmt.Sprintf("wants %d arguments, not %d", count, len(c.args)))
	case c.fsType != "" && strings.TrimPrefix(c.fsType, "fuse.") != usage.ProgramName:
		return helperUsage(name, fmt.Sprintf("file system type %q is not %s", c.fsType, host.FSType))
	case c.namespace != "":
		return &api.Failure{
			Class: api.ClassUsage, Message: name + ": the daemon must live in the mount namespace that it mounts in (-N)",
			Next: "enter the namespace first: nsenter --mount=FILE mount ...",
		}
	}
	return nil
}

// failHelper tells a failure and returns code.
func failHelper(io console.Streams, err error, code api.ExitCode) api.ExitCode {
	api.PrintFailure(io.Out, io.Err, api.AsFailure(err), false)
	return code
}

// helperCode is the exit code of mount(8) for one of ours.
func helperCode(code api.ExitCode) api.ExitCode {
	if code == api.ExitOK {
		return api.ExitOK
	}
	return mountFailed
}

// runAs runs args. It also makes them the command line of this process, because the daemon runs that again.
func runAs(ctx context.Context, args []string, p Program) api.ExitCode {
	os.Args = append([]string{usage.ProgramName}, args...)
	return execute(ctx, args, p)
}

func say(io console.Streams, format string, args ...any) {
	fmt.Fprintf(io.Out, "mount."+host.FSType+": "+format+"\n", args...)
}
