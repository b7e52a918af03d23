package fence

import "github.com/jvsfs/jvsfs/integration/harness"

// ownTimes are access and modification time of the rows that set them, with
// nanoseconds, in the past, and different.
const ownTimes = " 1000000000.123456789 1100000000.987654321"

// attrRows change modes, owners and times.
func attrRows() []row {
	file, dir, link := harness.WithFiles("f"), harness.WithDir("d"), harness.WithLink("l", "f")
	setuid := prepared(file, "chmod f 06755")
	return []row{
		{name: "chmod", prepare: file, run: "chmod f 04755"},
		{name: "chmod of a directory", prepare: dir, run: "chmod d 02770"},
		{name: "fchmod of a read handle", prepare: file, run: "open f ro =h; fchmod h 0600; close h"},
		{name: "fchmodat2 by O_PATH", prepare: file, run: "open f path =h; pathchmod h 0600; close h"},
		{name: "chown", prepare: file, run: "chown f 1234 5678"},
		{name: "chown of a directory", prepare: dir, run: "chown d 1234 -1"},
		{name: "chown of a setuid file", prepare: setuid, run: "chown f 1234 5678"},
		// Changes no owner, yet ctime, and takes the setuid bit away.
		{name: "chown to nobody", prepare: setuid, run: "chown f -1 -1"},
		{name: "lchown of a symlink", prepare: link, run: "lchown l 1234 5678"},
		{name: "fchown of a read handle", prepare: file, run: "open f ro =h; fchown h -1 5678; close h"},
		{name: "utimensat", prepare: file, times: []string{"f"}, run: "utimens f" + ownTimes},
		{name: "utimensat now", prepare: file, run: "utimens f now now"},
		{name: "utimensat of a directory", prepare: dir, times: []string{"d"}, run: "utimens d" + ownTimes},
		{name: "utimensat of a symlink", prepare: link, times: []string{"l"}, run: "lutimens l" + ownTimes},
		{name: "futimens of a read handle", prepare: file, times: []string{"f"}, run: "open f ro =h; futimens h" + ownTimes + "; close h"},
	}
}

// xattrRows change extended attributes and ACLs.
func xattrRows() []row {
	const acl = "u:7,U4242:6,g:5,m:7,o:0"
	file, dir, link := harness.WithFiles("f"), harness.WithDir("d"), harness.WithLink("l", "f")
	tagged, taggedLink := prepared(file, "setxattr f user.old old"), prepared(link, "lsetxattr l trusted.old old")
	withACL, withDefault := prepared(file, "setacl f access "+acl), prepared(dir, "setacl d default "+acl)
	return []row{
		{name: "setxattr", prepare: file, run: "setxattr f user.new v"},
		{name: "setxattr XATTR_CREATE", prepare: file, run: "setxattr f user.new v create"},
		{name: "setxattr XATTR_REPLACE", prepare: tagged, run: "setxattr f user.old v replace"},
		{name: "setxattr of a directory", prepare: dir, run: "setxattr d user.new v"},
		{name: "setxattr trusted", prepare: file, run: "setxattr f trusted.new v"},
		// Symlinks take no user.* attributes.
		{name: "lsetxattr of a symlink", prepare: link, run: "lsetxattr l trusted.new v"},
		{name: "fsetxattr of a read handle", prepare: file, run: "open f ro =h; fsetxattr h user.new v; close h"},
		{name: "removexattr", prepare: tagged, run: "removexattr f user.old"},
		{name: "lremovexattr of a symlink", prepare: taggedLink, run: "lremovexattr l trusted.old"},
		{name: "fremovexattr of a read handle", prepare: tagged, run: "open f ro =h; fremovexattr h user.old; close h"},
		{name: "set an ACL", prepare: file, run: "setacl f access " + acl},
		{name: "remove an ACL", prepare: withACL, run: "rmacl f access"},
		{name: "set a default ACL", prepare: dir, run: "setacl d default " + acl},
		{name: "remove a default ACL", prepare: withDefault, run: "rmacl d default"},
		{name: "open O_CREAT below a default ACL", prepare: withDefault, run: openAndWrite("d/new", "wo,creat")},
		{name: "mkdir below a default ACL", prepare: withDefault, run: "mkdir d/new 0777"},
		{name: "chmod of a file with an ACL", prepare: withACL, run: "chmod f 0640"},
	}
}

// flagRows set inode flags by ioctl, on descriptors that are open for reading
// only: no open call sees them coming.
func flagRows() []row {
	return []row{
		{name: "FS_IOC_SETFLAGS", prepare: harness.WithFiles("f"), run: "chattr f +d"},
		{name: "FS_IOC_SETFLAGS on a directory", prepare: harness.WithDir("d"), run: "chattr d +d"},
		{name: "FS_IOC_FSSETXATTR", prepare: harness.WithFiles("f"), run: "open f ro =h; fssetxattr h; close h"},
	}
}
