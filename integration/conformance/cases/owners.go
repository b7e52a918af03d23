package cases

import "fmt"

// setIDObjects are files and directories whose setuid and setgid bits are at stake.
var setIDObjects = map[string]string{"file": "fill a 9", "dir": "mkdir a", "fifo": "mkfifo a"}

var setIDModes = []string{"06777", "06755", "06711", "02755", "04755", "02745", "06644", "02070", "06000", "01777", "0777"}

var someone = map[string]string{"root": "0", "owner": "1001", "owner-member": "1001:1001,2000", "other": "1002", "other-member": "1002:1002,2000",
	"root-no-fsetid": "0-fsetid", "root-no-chown": "0-chown", "user-chown": "1002+chown", "user-fsetid": "1001+fsetid", "user-fowner": "1002+fowner"}

// ownerCases change owners and groups.
func ownerCases() []Case {
	var all []Case
	for kind, object := range setIDObjects {
		for _, mode := range setIDModes {
			for who, id := range someone {
				for _, ids := range []string{"1001 -1", "-1 2000", "-1 3000", "1002 1002", "-1 -1", "1001 1001", "0 0", "-1 1001"} {
					c := script(fmt.Sprintf("chown/%s/%s/%s/%s", kind, mode, who, ids),
						fmt.Sprintf("%s; chown a 1001 1001; chmod a %s -- @%s chown a %s", object, mode, id, ids))
					c.Slow = kind == "fifo" || mode != "06777" && mode != "02745" && mode != "06755"
					all = append(all, c)
				}
			}
		}
	}
	return append(all, scripts("chown", chownStories)...)
}

const chownStories = `
by-handle: fill a 3 06777; open a ro =h -- fchown h 1001 2000; @1001:1001,2000 fchown h -1 2000; @1002 fchown h 1002 1002
by-path-handle: fill a 3; open a path =h -- fchown h 1001 2000
nothing-while-written: fill a 3; chmod a 06755; open a rw =h -- @1001 chown a -1 -1; close h
nothing-after-writing: fill a 3; chmod a 06755; open a rw =h -- write h 1; close h; @1001 chown a -1 -1
link-itself: fill a 3; symlink a l -- lchown l 1001 2000; chown l 1002 1002; @1001:1001,2000 lchown l -1 2000
large-ids: fill a 3 -- chown a 4294967294 4294967293; chown a 65536 70000; chown a 4294967295 5
unlinked: fill a 3; open a rw =h; unlink a -- fchown h 1001 1001; fstat h; fchmod h 0600; fstat h; futimens h 5 6
with-acl: fill a 3; setacl a access u:6,U1002:4,g:4,m:6,o:0 -- chown a 1001 1001; chmod a 0640
capability-goes: fill a 3 0755; setxattr a security.capability 0x0100000200200000000000000000000000000000 -- chown a 1001 1001
capability-stays: fill a 3 0755; setxattr a security.capability 0x0100000200200000000000000000000000000000 -- chmod a 0700
`

// modeCases set modes.
func modeCases() []Case {
	var all []Case
	for kind, object := range setIDObjects {
		for _, group := range []string{"1001", "2000", "3000"} {
			for who, id := range someone {
				for _, mode := range []string{"0", "0644", "02755", "04755", "06777", "02745", "01777", "07777", "02666"} {
					c := script(fmt.Sprintf("chmod/%s/%s/%s/%s", kind, group, who, mode),
						fmt.Sprintf("%s; chown a 1001 %s; chmod a 0600 -- @%s chmod a %s", object, group, id, mode))
					c.Slow = kind == "fifo" || group == "1001"
					all = append(all, c)
				}
			}
		}
	}
	return append(all, scripts("chmod", chmodStories)...)
}

const chmodStories = `
by-handle: fill a 3; open a ro =h -- fchmod h 0600; fchmod h 04711; @1001 fchmod h 0777
by-path-handle: fill a 3; open a path =h -- fchmod h 0600
file-type-bits: fill a 3 -- chmod a 0100644; chmod a 0177777
link: fill a 3; symlink a l -- lchmod l 0600; chmod l 0600
open-survives: fill a 3 0666; chown a 1001 1001 -- @1001 open a rw =h; @1001 chmod a 0; @1001 write h 5; @1001 read h 5; @1001 open a ro
revoked-search: mkdir d 0777; mkdir d/e 0777; fill d/e/f 3 -- @1001 chdir d/e; chmod d 0; @1001 stat f; @1001 stat ../e/f; @1001 open f ro
umask: umask 027 -- create a 0666; mkdir d 0777; mkfifo p 0666; open t wo,creat 06777; mknod m f 0666; symlink x l; bind s
umask-user: -- @1001 umask 077; @1001 create a 0666; @1001 mkdir d 02777; @1001 mkfifo p 0666; @1001 open t wo,creat 06777; @1001 bind s; @1001 open . rw,tmp 0666 =h; @1001 fstat h
umask-acl: mkdir d 0777; setacl d default u:7,U1002:5,g:5,m:7,o:5; umask 077 -- create d/a 0666; mkdir d/e 0777; mkfifo d/p 0666; create d/e/b 0640; mknod d/m f 0600
setgid-dir: mkdir d; chown d 0 2000; chmod d 02777 -- @1001 create d/a 06777; @1001 mkdir d/e 0700; @1001 create d/e/f; @1001 symlink x d/l; @1001 mkfifo d/p; @1001:1001,2000 create d/m 06777; @1001 open d wo,tmp 02777 =h; @1001 fstat h; @1001 mknod d/k f 02755; @1001 bind d/s
acl-mask: fill a 3; setacl a access u:6,U1002:4,g:4,m:6,o:0 -- chmod a 0777; chmod a 0700; @1002 open a ro; chmod a 0
acl-setgid: fill a 3; chown a 1001 2000; chmod a 02755 -- @1001 setacl a access u:6,U1002:4,g:4,m:6,o:0; @1001 rmacl a access
acl-setgid-member: fill a 3; chown a 1001 2000; chmod a 02755 -- @1001:1001,2000 setacl a access u:6,U1002:4,g:4,m:6,o:0
acl-minimal: fill a 3 -- setacl a access u:6,g:6,o:0; rmacl a access; setacl a access u:7,g:0,o:0; setacl a default u:7,g:0,o:0
acl-broken: fill a 3; mkdir d -- setxattr a system.posix_acl_access 0x0200; setxattr a system.posix_acl_access 0x03000000; setxattr a system.posix_acl_access ''; setacl a access u:6,U1:4,g:4,o:0; setacl d default u:6; setxattr d system.posix_acl_default ''
acl-inherit: mkdir d; setacl d default u:7,U1002:6,g:5,G2000:1,m:7,o:1; mkdir d/e -- create d/f 0666; create d/g 0600; mkdir d/e/h 0700; create d/e/i 0777; rmacl d default; create d/j 0666
acl-others-file: fill a 3; chown a 1002 1002 -- @1001 setacl a access u:6,g:6,o:0; @1001 rmacl a access; @1001+fowner setacl a access u:6,U1001:6,g:6,m:6,o:0
acl-link: fill a 3; symlink a l -- setacl l access u:6,U1001:6,g:6,m:6,o:0; lsetxattr l system.posix_acl_access 0x0200; getxattr l system.posix_acl_access
`

// timeCases set times, as users who may and users who may not.
func timeCases() []Case {
	var all []Case
	for _, mode := range []string{"0644", "0666", "0444", "0"} {
		for who, id := range someone {
			for _, times := range []string{"now now", "omit omit", "now omit", "omit now", "1000.000000001 2000.999999999", "omit 2000.5", "1000.5 omit", "now 7", "7 now", "-5.25 -1", "4294967296.5 17179869183"} {
				for call, on := range map[string]string{"utimens": "a", "lutimens": "l", "futimens": "h"} {
					c := script(fmt.Sprintf("utimens/%s/%s/%s/%s", mode, who, call, times),
						fmt.Sprintf("fill a 3; symlink a l; lchown l 1001 1001; chown a 1001 1001; open a rw =h; chmod a %s -- @%s %s %s %s", mode, id, call, on, times))
					c.Slow = call != "utimens" || who != "root" && who != "owner" && who != "other"
					all = append(all, c)
				}
			}
		}
	}
	return append(all, scripts("times", timeStories)...)
}

const timeStories = `
write: fill a 9; open a rw =h -- write h 3; pwrite h 0 0; write h 0; pwrite h 100 5; ftruncate h 10; ftruncate h 10; fallocate h 0 0 10; fallocate h 0 0 5000; fallocate h keep 0 90000; fallocate h punch 0 4096; fallocate h zero 0 100
read: fill a 9; open a rw =h -- read h 5; pread h 0 9
truncate: fill a 9 -- truncate a 9; truncate a 0; truncate a 0; open a wo,trunc; truncate a 5; open a ro,trunc
creation: -- create a; create a; open a wo,creat; mkdir d; create d/x; link d/x y; symlink x l; unlink y; rename d/x d/z; rmdir d; unlink d/z; rmdir d
attributes: fill a 9 -- chmod a 0600; chmod a 0600; chown a 0 0; chown a -1 -1; setxattr a user.k v; setxattr a user.k v; removexattr a user.k; removexattr a user.k; setacl a access u:6,U1:4,g:4,m:6,o:0; rmacl a access; chattr a +d; chattr a -
hard-links: fill a 9; link a b -- link a c; unlink c; chmod b 0600; open a wo =h; write h 3; rename b c; unlink a
directory-links: mkdir d -- mkdir d/a; mkdir d/b; rename d/a e; rmdir e; rename d/b d/c; rmdir d/c
map: fill a 9000; open a rw =h -- mapwrite h 0 10; mapwrite h 4090 100; mapwrite h 8999 1; fsync h
map-async: fill a 9000; open a rw =h -- mapwrite h 0 10 async; close h
map-close: fill a 9000; open a rw =h -- mapwrite h 0 10 none; close h
copy: fill a 9000; fill b 10; open a ro =h; open b wo =g -- copy h 0 g 0 5000; copy h 0 g 5000 0; copy h 9000 g 0 5; sendfile h g 100
kept-by-copy: fill a 9; utimens a 1.000000001 2.000000002 -- chmod a 0600; rename a b; link b c; open b rw =h; read h 3; close h
set-then-write: fill a 9; open a rw =h -- utimens a 1 2; write h 3; utimens a 1 2; close h; stat a
set-by-handle: fill a 9; open a ro =h -- futimens h 1.5 2.5; futimens h omit 3; futimens h now omit
`

// accessCases open, run and check files of every mode.
func accessCases() []Case {
	var all []Case
	for bits := range 8 {
		for class, mode := range map[string]int{"user": bits << 6, "group": bits << 3, "other": bits} {
			for who, id := range map[string]string{"owner": "1001", "member": "1002:1002,2000", "group": "1002:2000", "other": "1002", "root": "0", "override": "1002+dac_override", "search": "1002+dac_read_search"} {
				for kind, object := range map[string]string{"file": "fill a 9", "dir": "mkdir a 0777; fill a/f 1 0666"} {
					c := script(fmt.Sprintf("access/%s/%s/%d/%s", kind, class, bits, who), fmt.Sprintf(
						"%s; chown a 1001 2000; chmod a 0%o -- @%[3]s open a ro; @%[3]s open a wo; @%[3]s open a rw; @%[3]s open a wo,trunc; @%[3]s access a r; @%[3]s access a w; @%[3]s access a x; @%[3]s eaccess a rwx; @%[3]s readdir a; @%[3]s stat a/f; @%[3]s create a/g; @%[3]s unlink a/f; @%[3]s chdir a; @%[3]s setxattr a user.k v; @%[3]s getxattr a user.k; @%[3]s truncate a 3; @%[3]s utimens a now now; @%[3]s mkdir a/d",
						object, mode, id))
					c.Slow = who == "search" || who == "group"
					all = append(all, c)
				}
			}
		}
	}
	return all
}
