package cli

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// umountHelper drains, flushes and releases before umount(8) returns; without it the
// daemon does that once the mount has gone.
func umountHelper(ctx context.Context, argv []string, p Program) api.ExitCode {
	c, err := parseHelperCall("umount."+host.FSType, 1, argv)
	if err != nil {
		return failHelper(p.Streams, err, mountUsage)
	}
	if c.lazy {
		return failHelper(p.Streams, &api.Failure{
			Class: api.ClassUsage, Message: "a lazy unmount bares the directory below while processes still use the mount",
			Next: "end them: " + usage.ProgramName + " umount " + human.Printable(c.args[0]) + " names them; umount -il asks nobody",
		}, mountUsage)
	}
	args := []string{"umount", "--", c.args[0]}
	if c.force {
		args = []string{"umount", "--bare", "--", c.args[0]}
	}
	return helperCode(execute(ctx, args, p))
}
