package cli

import (
	"context"
	"io"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/mount"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// mountHelper mounts for mount(8), and returns when the mount serves.
func mountHelper(ctx context.Context, argv []string, p Program) api.ExitCode {
	c, err := parseHelperCall("mount."+host.FSType, 2, argv)
	if err != nil {
		return failHelper(p.Streams, err, mountUsage)
	}
	if !c.verbose { // mount(8) is silent while all is well
		p.Out = io.Discard
	}
	args, err := c.mountArgs(p.Streams)
	if err == nil {
		err = mount.NeedRoot()
	}
	if err != nil {
		return failHelper(p.Streams, err, mountUsage)
	}
	say(p.Streams, "%s %s", usage.ProgramName, human.Printable(strings.Join(args, " ")))
	if c.fake {
		return c.pretend(ctx, p, args)
	}
	code := helperCode(runAs(ctx, args, p))
	if code == api.ExitOK {
		say(p.Streams, "%s serves", human.Printable(c.args[1]))
	}
	return code
}

// mountArgs is the call as a command line of jvsfs mount, which is also what a list of
// processes shows of the daemon: with the options that mean something.
func (c *helperCall) mountArgs(std console.Streams) ([]string, error) {
	parse := mountcfg.ParseOptions
	if c.sloppy {
		parse = mountcfg.ParseSloppyOptions
	}
	if c.readonly {
		c.options = append(c.options, "ro")
	}
	opts, err := parse(strings.Join(c.options, ","))
	if err == nil {
		_, err = mountcfg.ResolveOptions("", opts, nil, rules.Check)
	}
	if err != nil {
		return nil, api.UsageError(err)
	}
	if len(opts.Unknown) > 0 {
		say(std, "left out as unknown: %s", human.Printable(strings.Join(opts.Unknown, ", ")))
	}
	args := []string{"mount"}
	if text := opts.String(); text != "" {
		args = append(args, "-o", text)
	}
	return append(append(args, "--"), c.args...), nil
}

// pretend does everything but mount.
func (c *helperCall) pretend(ctx context.Context, p Program, args []string) api.ExitCode {
	if err := mount.Pretend(ctx, p.Streams, p.started, args[1:]); err != nil {
		return failHelper(p.Streams, err, mountFailed)
	}
	return api.ExitOK
}
