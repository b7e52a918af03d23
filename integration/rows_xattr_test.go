package integration

import (
	"golang.org/x/sys/unix"
)

const (
	aclAccess  = "system.posix_acl_access"
	aclDefault = "system.posix_acl_default"
)

// xattrRows change extended attributes and ACLs.
func xattrRows() []row {
	file := withFiles("f")
	tagged := prepareAll(file, func(t tb, dir string) { must(t, unix.Setxattr(dir+"/f", "user.old", []byte("old"), 0)) })
	taggedLink := prepareAll(withLink("l", "f"), func(t tb, dir string) {
		must(t, unix.Lsetxattr(dir+"/l", "trusted.old", []byte("old"), 0))
	})
	withACL := prepareAll(file, func(t tb, dir string) { must(t, unix.Setxattr(dir+"/f", aclAccess, userACL(4242), 0)) })
	withDefault := prepareAll(withDir("d"), func(t tb, dir string) {
		must(t, unix.Setxattr(dir+"/d", aclDefault, userACL(4242), 0))
	})
	return []row{
		{name: "setxattr", prepare: file, run: func(b *box) error { return unix.Setxattr(b.at("f"), "user.new", []byte("v"), 0) }},
		{name: "setxattr XATTR_CREATE", prepare: file, run: func(b *box) error {
			return unix.Setxattr(b.at("f"), "user.new", []byte("v"), unix.XATTR_CREATE)
		}},
		{name: "setxattr XATTR_REPLACE", prepare: tagged, run: func(b *box) error {
			return unix.Setxattr(b.at("f"), "user.old", []byte("v"), unix.XATTR_REPLACE)
		}},
		{name: "setxattr of a directory", prepare: withDir("d"), run: func(b *box) error {
			return unix.Setxattr(b.at("d"), "user.new", []byte("v"), 0)
		}},
		{name: "setxattr trusted", prepare: file, run: func(b *box) error {
			return unix.Setxattr(b.at("f"), "trusted.new", []byte("v"), 0)
		}},
		// Symlinks take no user.* attributes.
		{name: "lsetxattr of a symlink", prepare: withLink("l", "f"), run: func(b *box) error {
			return unix.Lsetxattr(b.at("l"), "trusted.new", []byte("v"), 0)
		}},
		{name: "fsetxattr of a read handle", prepare: file, run: func(b *box) error {
			return b.with("f", unix.O_RDONLY, 0, func(fd int) error { return unix.Fsetxattr(fd, "user.new", []byte("v"), 0) })
		}},
		{name: "removexattr", prepare: tagged, run: func(b *box) error { return unix.Removexattr(b.at("f"), "user.old") }},
		{name: "lremovexattr of a symlink", prepare: taggedLink, run: func(b *box) error {
			return unix.Lremovexattr(b.at("l"), "trusted.old")
		}},
		{name: "fremovexattr of a read handle", prepare: tagged, run: func(b *box) error {
			return b.with("f", unix.O_RDONLY, 0, func(fd int) error { return unix.Fremovexattr(fd, "user.old") })
		}},
		{name: "set an ACL", prepare: file, run: func(b *box) error { return unix.Setxattr(b.at("f"), aclAccess, userACL(4242), 0) }},
		{name: "remove an ACL", prepare: withACL, run: func(b *box) error { return unix.Removexattr(b.at("f"), aclAccess) }},
		{name: "set a default ACL", prepare: withDir("d"), run: func(b *box) error {
			return unix.Setxattr(b.at("d"), aclDefault, userACL(4242), 0)
		}},
		{name: "remove a default ACL", prepare: withDefault, run: func(b *box) error { return unix.Removexattr(b.at("d"), aclDefault) }},
		{name: "open O_CREAT below a default ACL", prepare: withDefault, run: openAndWrite("d/new", unix.O_WRONLY|unix.O_CREAT)},
		{name: "mkdir below a default ACL", prepare: withDefault, run: func(b *box) error { return unix.Mkdir(b.at("d/new"), 0o777) }},
		{name: "chmod of a file with an ACL", prepare: withACL, run: func(b *box) error { return unix.Chmod(b.at("f"), 0o640) }},
	}
}
