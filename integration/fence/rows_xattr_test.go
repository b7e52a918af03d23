package fence

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// xattrRows change extended attributes and ACLs.
func xattrRows() []row {
	file := harness.WithFiles("f")
	tagged := harness.PrepareAll(file, func(t harness.TB, dir string) { harness.Must(t, unix.Setxattr(dir+"/f", "user.old", []byte("old"), 0)) })
	taggedLink := harness.PrepareAll(harness.WithLink("l", "f"), func(t harness.TB, dir string) {
		harness.Must(t, unix.Lsetxattr(dir+"/l", "trusted.old", []byte("old"), 0))
	})
	withACL := harness.PrepareAll(file, func(t harness.TB, dir string) {
		harness.Must(t, unix.Setxattr(dir+"/f", harness.ACLAccess, harness.UserACL(4242), 0))
	})
	withDefault := harness.PrepareAll(harness.WithDir("d"), func(t harness.TB, dir string) {
		harness.Must(t, unix.Setxattr(dir+"/d", harness.ACLDefault, harness.UserACL(4242), 0))
	})
	return []row{
		{name: "setxattr", prepare: file, run: func(b *harness.Box) error { return unix.Setxattr(b.At("f"), "user.new", []byte("v"), 0) }},
		{name: "setxattr XATTR_CREATE", prepare: file, run: func(b *harness.Box) error {
			return unix.Setxattr(b.At("f"), "user.new", []byte("v"), unix.XATTR_CREATE)
		}},
		{name: "setxattr XATTR_REPLACE", prepare: tagged, run: func(b *harness.Box) error {
			return unix.Setxattr(b.At("f"), "user.old", []byte("v"), unix.XATTR_REPLACE)
		}},
		{name: "setxattr of a directory", prepare: harness.WithDir("d"), run: func(b *harness.Box) error {
			return unix.Setxattr(b.At("d"), "user.new", []byte("v"), 0)
		}},
		{name: "setxattr trusted", prepare: file, run: func(b *harness.Box) error {
			return unix.Setxattr(b.At("f"), "trusted.new", []byte("v"), 0)
		}},
		// Symlinks take no user.* attributes.
		{name: "lsetxattr of a symlink", prepare: harness.WithLink("l", "f"), run: func(b *harness.Box) error {
			return unix.Lsetxattr(b.At("l"), "trusted.new", []byte("v"), 0)
		}},
		{name: "fsetxattr of a read handle", prepare: file, run: func(b *harness.Box) error {
			return b.With("f", unix.O_RDONLY, 0, func(fd int) error { return unix.Fsetxattr(fd, "user.new", []byte("v"), 0) })
		}},
		{name: "removexattr", prepare: tagged, run: func(b *harness.Box) error { return unix.Removexattr(b.At("f"), "user.old") }},
		{name: "lremovexattr of a symlink", prepare: taggedLink, run: func(b *harness.Box) error {
			return unix.Lremovexattr(b.At("l"), "trusted.old")
		}},
		{name: "fremovexattr of a read handle", prepare: tagged, run: func(b *harness.Box) error {
			return b.With("f", unix.O_RDONLY, 0, func(fd int) error { return unix.Fremovexattr(fd, "user.old") })
		}},
		{name: "set an ACL", prepare: file, run: func(b *harness.Box) error {
			return unix.Setxattr(b.At("f"), harness.ACLAccess, harness.UserACL(4242), 0)
		}},
		{name: "remove an ACL", prepare: withACL, run: func(b *harness.Box) error { return unix.Removexattr(b.At("f"), harness.ACLAccess) }},
		{name: "set a default ACL", prepare: harness.WithDir("d"), run: func(b *harness.Box) error {
			return unix.Setxattr(b.At("d"), harness.ACLDefault, harness.UserACL(4242), 0)
		}},
		{name: "remove a default ACL", prepare: withDefault, run: func(b *harness.Box) error { return unix.Removexattr(b.At("d"), harness.ACLDefault) }},
		{name: "open O_CREAT below a default ACL", prepare: withDefault, run: openAndWrite("d/new", unix.O_WRONLY|unix.O_CREAT)},
		{name: "mkdir below a default ACL", prepare: withDefault, run: func(b *harness.Box) error { return unix.Mkdir(b.At("d/new"), 0o777) }},
		{name: "chmod of a file with an ACL", prepare: withACL, run: func(b *harness.Box) error { return unix.Chmod(b.At("f"), 0o640) }},
	}
}
