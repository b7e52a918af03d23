package main

import "context"

// umountHelper drains, flushes and releases before umount(8) returns; without it the
// daemon does that once the mount has gone.
func umountHelper(ctx context.Context, argv []string, io stdio) int {
	c, err := parseHelperCall("umount."+fsType, 1, argv)
	if err != nil {
		return failHelper(io, err, mountUsage)
	}
	if c.lazy {
		return failHelper(io, &failure{
			Class: classUsage, Message: "a lazy unmount bares the directory below while processes still use the mount",
			Next: "end them: " + programName + " umount " + printable(c.args[0]) + " names them; umount -il asks nobody",
		}, mountUsage)
	}
	args := []string{"umount", "--", c.args[0]}
	if c.force {
		args = []string{"umount", "--bare", "--", c.args[0]}
	}
	return helperCode(run(ctx, args, io))
}
