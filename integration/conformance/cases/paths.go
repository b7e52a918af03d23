package cases

import "fmt"

// pathCalls are calls that take one path, written %s. "new" stands for a name that
// is free, "have" for a file that is there.
var pathCalls = map[string]string{
	"open-read": "open %s ro", "open-write": "open %s wo", "open-rdwr": "open %s rw", "open-creat": "open %s wo,creat 0640",
	"open-excl": "open %s wo,creat,excl 0640", "open-trunc": "open %s wo,trunc", "open-rdtrunc": "open %s ro,trunc",
	"open-dir": "open %s ro,dir", "open-creatdir": "open %s ro,creat,dir", "open-path": "open %s path",
	"open-nofollow": "open %s ro,nofollow", "open-tmpfile": "open %s rw,tmp 0600", "open-append": "open %s wo,append",
	"open-acc3": "open %s acc3", "open-noatime": "open %s ro,noatime", "open-pathnofollow": "open %s path,nofollow",
	"mkdir": "mkdir %s 0750", "rmdir": "rmdir %s", "unlink": "unlink %s", "mkfifo": "mkfifo %s 0640",
	"mknod-file": "mknod %s f 0640", "mknod-null": "mknod %s c 0640 1 3", "mknod-sock": "mknod %s s 0640", "bind": "bind %s",
	"symlink": "symlink target %s", "link-from": "link %s new", "link-to": "link have %s", "linkto-from": "linkto %s new",
	"rename-from": "rename %s new", "rename-to": "rename have %s", "rename-noreplace": "rename have %s noreplace",
	"rename-exchange": "rename have %s exchange", "rename-whiteout": "rename %s new whiteout",
	"chmod": "chmod %s 0611", "lchmod": "lchmod %s 0611", "chown": "chown %s 1001 1001", "chown-group": "chown %s -1 2000", "chown-none": "chown %s -1 -1",
	"lchown": "lchown %s 1001 1001", "truncate": "truncate %s 5", "truncate-0": "truncate %s 0", "truncate-neg": "truncate %s -1",
	"utimens": "utimens %s 1000.5 2000.7", "utimens-now": "utimens %s now now", "lutimens": "lutimens %s 1000.5 2000.7",
	"access-r": "access %s r", "access-w": "access %s w", "access-x": "access %s x", "access-f": "access %s f", "eaccess": "eaccess %s rw",
	"stat": "stat %s", "lstat": "lstat %s", "readlink": "readlink %s", "statfs": "statfs %s", "chdir": "chdir %s", "readdir": "readdir %s",
	"setxattr": "setxattr %s user.k v", "lsetxattr": "lsetxattr %s user.k v", "trusted": "lsetxattr %s trusted.k v",
	"getxattr": "getxattr %s user.k", "listxattr": "listxattr %s", "removexattr": "removexattr %s user.k",
	"setacl": "setacl %s access u:6,U1002:4,g:4,m:6,o:0", "setdefault": "setacl %s default u:7,U1002:5,g:5,m:7,o:0",
	"run": "run %s", "chattr": "chattr %s +d", "lsattr": "lsattr %s",
}

// pathPlaces are what a path may lead to: how it is made, and the path.
var pathPlaces = map[string]struct{ setup, path string }{
	"missing": {"", "nope"}, "missing-slash": {"", "nope/"}, "missing-parent": {"", "nope/x"}, "empty": {"", "''"},
	"file-parent": {"fill f 9", "f/x"}, "file-slash": {"fill f 9", "f/"}, "file-dot": {"fill f 9", "f/."}, "file-dotdot": {"fill f 9", "f/.."},
	"dir-slash": {"mkdir d", "d/"}, "dir-dot": {"mkdir d", "d/."}, "dir-dotdot": {"mkdir d; mkdir d/e", "d/e/.."}, "dot": {"", "."},
	"name-255": {"", "<n255>"}, "name-256": {"", "<n256>"}, "name-256-parent": {"", "<n256>/x"}, "name-1025": {"", "<n1025>"},
	"name-255-have": {"fill <n255> 9", "<n255>"}, "path-4095": {"fill f 9", "<p4095:f>"}, "path-4096": {"fill f 9", "<p4096:f>"},
	"path-4095-new": {"", "<p4095:x>"}, "loop": {"symlink b a; symlink a b", "a"}, "loop-below": {"symlink b a; symlink a b", "a/x"},
	"self-loop": {"symlink l l", "l/"}, "file": {"fill f 9 0664", "f"}, "file-mine": {"fill f 9 0644; chown f 1001 1001", "f"},
	"file-group": {"fill f 9 0660; chown f 1002 2000", "f"}, "file-none": {"fill f 9 0; chown f 1001 1001", "f"},
	"file-locked-out": {"fill f 9 0077; chown f 1001 1001", "f"}, "file-others": {"fill f 9 0706; chown f 1002 2000", "f"},
	"file-suid": {"fill f 9 06777; chown f 1001 2000; chmod f 06777", "f"}, "file-exec": {"fill f 9 0711", "f"},
	"file-xattr": {"fill f 9 0666; setxattr f user.k old", "f"}, "hardlink": {"fill f 9 0666; link f g", "f"},
	"dir": {"mkdir d 0775", "d"}, "dir-mine": {"mkdir d 0755; chown d 1001 1001", "d"}, "dir-full": {"mkdir d 0777; fill d/f 9; mkdir d/e", "d"},
	"dir-group": {"mkdir d 0770; chown d 1002 2000", "d"}, "dir-setgid": {"mkdir d; chown d 0 2000; chmod d 02777", "d/x"},
	"fifo": {"mkfifo p 0666", "p"}, "socket": {"bind s; chmod s 0666", "s"}, "null": {"mknod n c 0666 1 3", "n"}, "block": {"mknod n b 0666 7 99", "n"},
	"link": {"fill f 9 0666; symlink f l", "l"}, "link-dir": {"mkdir d 0777; symlink d l", "l"}, "link-dangling": {"symlink nope l", "l"},
	"link-slash": {"mkdir d 0777; symlink d l", "l/"}, "link-file-slash": {"fill f 9; symlink f l", "l/"}, "link-dangling-slash": {"symlink nope l", "l/"},
	"link-mine": {"fill f 9; symlink f l; lchown l 1001 1001", "l"}, "link-through": {"mkdir d 0777; fill d/f 9 0666; symlink d l", "l/f"},
	"link-255": {"symlink <n255> l", "l"}, "link-4095": {"symlink <p4095:f> l; fill f 9", "l"},
	"parent-nosearch": {"mkdir d 0777; fill d/f 9 0666; chmod d 0666", "d/f"}, "parent-nosearch-new": {"mkdir d 0666", "d/x"},
	"parent-nowrite": {"mkdir d 0777; fill d/f 9 0666; chmod d 0555", "d/f"}, "parent-nowrite-new": {"mkdir d 0555", "d/x"},
	"parent-noread": {"mkdir d 0777; fill d/f 9 0666; chmod d 0333", "d/f"}, "parent-noread-new": {"mkdir d 0333", "d/x"},
	"parent-nothing": {"mkdir d 0777; fill d/f 9; chmod d 0", "d/f"}, "parent-group": {"mkdir d 0777; fill d/f 9 0666; chown d 1002 2000; chmod d 0070", "d/f"},
	"parent-group-new": {"mkdir d 0777; chown d 1002 2000; chmod d 0070", "d/x"},
	"parent-owner-out": {"mkdir d 0777; fill d/f 9 0666; chown d 1001 1001; chmod d 0077", "d/f"},
	"sticky-others":    {"mkdir d 01777; fill d/f 9 0666; chown d/f 1002 1002", "d/f"}, "sticky-mine": {"mkdir d 01777; fill d/f 9 0666; chown d/f 1001 1001", "d/f"},
	"sticky-my-dir":     {"mkdir d; chown d 1001 1001; chmod d 01777; fill d/f 9; chown d/f 1002 1002", "d/f"},
	"sticky-others-dir": {"mkdir d 01777; mkdir d/e 0777; chown d/e 1002 1002", "d/e"}, "sticky-new": {"mkdir d 01777", "d/x"},
	"acl-dir": {"mkdir d 0777; setacl d default u:7,U1001:7,g:5,m:7,o:0", "d/x"}, "acl-user": {"fill f 9 0600; setacl f access u:6,U1001:6,g:0,m:6,o:0", "f"},
	"acl-group": {"fill f 9 0600; setacl f access u:6,g:0,G2000:6,m:6,o:0", "f"}, "acl-denied": {"fill f 9 0666; setacl f access u:6,U1001:0,g:6,m:6,o:6", "f"},
	"acl-masked": {"fill f 9 0666; setacl f access u:6,U1001:7,g:6,m:4,o:0", "f"},
	"acl-parent": {"mkdir d 0700; setacl d access u:7,U1001:7,g:0,m:7,o:0; fill d/f 9 0666", "d/f"},
	"immutable":  {"fill f 9 0666; chattr f +i", "f"}, "append-only": {"fill f 9 0666; chattr f +a", "f"},
	"immutable-dir": {"mkdir d 0777; fill d/f 9 0666; chattr d +i", "d/f"}, "immutable-dir-new": {"mkdir d 0777; chattr d +i", "d/x"},
	"append-dir": {"mkdir d 0777; fill d/f 9 0666; chattr d +a", "d/f"}, "append-dir-new": {"mkdir d 0777; chattr d +a", "d/x"},
	"odd-name": {"fill \x01\xff*\\ 9 0666", "\x01\xff*\\"},
}

// callers are who makes the calls of the crossings.
var callers = map[string]string{"root": "0", "user": "1001", "member": "1001:1001,2000", "fowner": "1002+fowner", "weak-root": "0-dac_override-dac_read_search-fowner"}

// pathCases crosses every call with every place and caller.
func pathCases() []Case {
	var all []Case
	for call, form := range pathCalls {
		for place, p := range pathPlaces {
			for caller, who := range callers {
				text := p.setup + "; fill have 3 0666; chown have 1001 1001 -- @" + who + " " + fmt.Sprintf(form, p.path)
				c := script("paths/"+call+"/"+place+"/"+caller, text)
				c.Slow = caller != "root" && caller != "user"
				all = append(all, c)
			}
		}
	}
	return all
}
