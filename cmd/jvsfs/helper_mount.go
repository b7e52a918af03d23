package main

import (
	"context"
	"io"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// mountHelper mounts for mount(8), and returns when the mount serves.
func mountHelper(ctx context.Context, argv []string, std stdio) api.ExitCode {
	c, err := parseHelperCall("mount."+host.FSType, 2, argv)
	if err != nil {
		return failHelper(std, err, mountUsage)
	}
	if !c.verbose { // mount(8) is silent while all is well
		std.out = io.Discard
	}
	args, err := c.mountArgs(std)
	if err == nil {
		err = needRoot()
	}
	if err != nil {
		return failHelper(std, err, mountUsage)
	}
	say(std, "%s %s", programName, human.Printable(strings.Join(args, " ")))
	if c.fake {
		return c.pretend(ctx, std, args)
	}
	code := helperCode(runAs(ctx, args, std))
	if code == api.ExitOK {
		say(std, "%s serves", human.Printable(c.args[1]))
	}
	return code
}

// mountArgs is the call as a command line of jvsfs mount, which is also what a list of
// processes shows of the daemon: with the options that mean something.
func (c *helperCall) mountArgs(std stdio) ([]string, error) {
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
func (c *helperCall) pretend(ctx context.Context, std stdio, args []string) api.ExitCode {
	m := &mountCommand{io: std}
	cmd := m.command()
	cmd.SetContext(ctx)
	err := cmd.ParseFlags(args[1:])
	if err == nil {
		_, _, err = m.prepare(cmd, cmd.Flags().Args())
	}
	if err != nil {
		return failHelper(std, err, mountFailed)
	}
	return api.ExitOK
}
