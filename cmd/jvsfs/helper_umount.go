package main

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// umountHelper drains, flushes and releases before umount(8) returns; without it the
// daemon does that once the mount has gone.
func umountHelper(ctx context.Context, argv []string, p program) api.ExitCode {
	c, err := parseHelperCall("umount."+host.FSType, 1, argv)
	if err != nil {
		return failHelper(p.stdio, err, mountUsage)
	}
	if c.lazy {
		return failHelper(p.stdio, &api.Failure{
			Class: api.ClassUsage, Message: "a lazy unmount bares the directory below while processes still use the mount",
			Next: "end them: " + programName + " umount " + human.Printable(c.args[0]) + " names them; umount -il asks nobody",
		}, mountUsage)
	}
	args := []string{"umount", "--", c.args[0]}
	if c.force {
		args = []string{"umount", "--bare", "--", c.args[0]}
	}
	return helperCode(run(ctx, args, p))
}
