package cases

// storyCases are short scripts of everything that is no crossing.
func storyCases() []Case {
	var all []Case
	for topic, lines := range map[string]string{
		"xattr": xattrStories, "open": openStories, "unlinked": unlinkedStories, "link": linkStories, "tmpfile": tmpfileStories,
		"sparse": sparseStories, "write": writeStories, "node": nodeStories, "flags": flagStories, "names": nameStories, "map": mapStories,
		"run": runStories, "copy": copyStories, "direct": directStories, "dir": dirStories,
	} {
		all = append(all, scripts(topic, lines)...)
	}
	return all
}

const xattrStories = `
user: fill a 3 -- setxattr a user.k v; setxattr a user.k w create; setxattr a user.q w replace; setxattr a user.k w replace; getxattr a user.k; getxattr a user.k 0; setxattr a user.long 12345; getxattr a user.long 2; listxattr a; listxattr a 0; listxattr a 3; removexattr a user.k; removexattr a user.k; getxattr a user.k
flags: fill a 3 -- setxattr a user.k v bad; setxattr a user.k v create; setxattr a user.k v create
empty-value: fill a 3 -- setxattr a user.k ''; getxattr a user.k; listxattr a
names: fill a 3 -- setxattr a user. v; setxattr a nope.k v; setxattr a '' v; setxattr a user.<n250> v; setxattr a user.<n251> v; getxattr a user.<n250>; setxattr a system.k v; setxattr a k v; getxattr a system.nfs4_acl; setxattr a security.k v; setxattr a trusted.k v; listxattr a; removexattr a trusted.k; removexattr a security.k
large: fill a 3 -- setxattr a user.k <n3000>; getxattr a user.k; setxattr a user.k <n4000>; setxattr a user.j <n70000>; setxattr a user.i <n65536>
namespaces-user: fill a 3 0666; chown a 1001 1001; setxattr a trusted.t 1; setxattr a security.s 2; setxattr a user.u 3 -- @1001 listxattr a; @1001 getxattr a trusted.t; @1001 getxattr a security.s; @1001 getxattr a user.u; @1001 setxattr a trusted.t 2; @1001 setxattr a security.s 2; @1001 removexattr a security.s; @1001 removexattr a trusted.t; @1001+sys_admin listxattr a; @1001+sys_admin getxattr a trusted.t; @1001+sys_admin setxattr a trusted.t 9; @0-sys_admin listxattr a; @0-sys_admin getxattr a trusted.t; @0-sys_admin setxattr a trusted.n 1
permissions: fill a 3; setxattr a user.k v -- @1001 getxattr a user.k; @1001 setxattr a user.k w; chmod a 0; @1001 getxattr a user.k; @1001 listxattr a; chmod a 0222; @1001 getxattr a user.k; @1001 setxattr a user.k x; @1001 removexattr a user.k
kinds: mkdir d; symlink d l; mkfifo p; bind s; mknod n c 0666 1 3 -- setxattr d user.k v; lsetxattr l user.k v; lsetxattr l trusted.k v; setxattr p user.k v; setxattr s user.k v; setxattr n user.k v; setxattr n trusted.k v; lsetxattr l security.k v
sticky-dir: mkdir d; chmod d 01777 -- @1001 setxattr d user.k v; setxattr d user.k v; @1001 getxattr d user.k
many: fill a 3 -- setxattr a user.a <n100>; setxattr a user.b <n100>; setxattr a user.c <n100>; setxattr a user.d <n100>; setxattr a user.e <n100>; listxattr a; removexattr a user.c; listxattr a
follows: fill a 3; symlink a l -- setxattr l user.k v; getxattr l user.k; listxattr l; removexattr l user.k; listxattr l
binary: fill a 3 -- setxattr a user.k 0x00ff00; getxattr a user.k; setxattr a user.` + "\xff\x01" + ` v; listxattr a
`

const openStories = `
flags: fill a 9 0666 -- open a rw,sync; open a rw,dsync; open a rw,direct; open a rw,async; open a rw,nonblock; open a rw,append,trunc; open a ro,excl; open a acc3; open a acc3,creat; open a ro,creat,excl; open . wo; open . rw; open . ro,creat; open . ro,trunc; open . wo,tmp; open a rw,tmp; open . ro,tmp
getfl: fill a 9 -- open a rw,append,sync =h; getfl h; setfl h rw,nonblock; getfl h; setfl h rw,direct; getfl h; setfl h rw; getfl h
mode-0: -- @1001 open a rw,creat 0 =h; @1001 write h 3; @1001 pread h 0 3; @1001 open a ro; @1001 fstat h
read-only-mode: -- @1001 open a wo,creat 0444 =h; @1001 write h 3; @1001 open a wo; @1001 ftruncate h 1
wrong-way: fill a 9 -- open a ro =r; open a wo =w; write r 3; read w 3; ftruncate r 3; fallocate r 0 0 10; pread w 0 3; copy w 0 r 0 3; fsync r
path: fill a 9 -- open a path =h; read h 3; write h 3; fstat h; ftruncate h 0; fchmod h 0600; fchown h 1 1; fsync h; linkfd h b
noatime: fill a 9 0666; chown a 1002 1002 -- @1001 open a ro,noatime; @1002 open a ro,noatime =h; @1002 read h 5; open a ro,noatime; @1001+fowner open a ro,noatime; open a ro =g; setfl g ro,noatime; @1001 open a ro =k; @1001 setfl k ro,noatime
setfl-append: fill a 9; open a rw =h -- setfl h rw,append; write h 3; pwrite h 0 2; setfl h rw; pwrite h 0 2; write h 1
create-dangling: symlink b l -- open l wo,creat; open l wo,creat,excl; stat b
create-others-sticky: mkdir d; chmod d 01777; fill d/f 3 0666; chown d/f 1002 1002; mkfifo d/p 0666; chown d/p 1002 1002 -- @1001 open d/f wo,creat; @1001 open d/f rw; @1001 open d/p wo,creat; open d/f wo,creat; open d/p rw,creat
create-others-group-sticky: mkdir d; chown d 0 2000; chmod d 01775; fill d/f 3 0666; chown d/f 1002 1002 -- @1001 open d/f wo,creat; @1003:2000 open d/f wo,creat
dir-handles: mkdir d -- open d ro,dir =h; read h 10; fsync h; fdatasync h; rmdir d; fstat h; fchdir h; create x; readdir .; getcwd; fsync h; syncfs h
many-handles: fill a 9 -- open a rw =a; open a rw =b; open a ro =c; write a 3; read b 9; write b 2; pread c 0 20; close a; write b 4; pread c 0 20
fifo: mkfifo p 0666 -- open p wo; open p ro =h; open p wo =g; write g 5; read h 9; fstat h; ftruncate h 0; truncate p 0; lseek h 0 set
trunc-device: mknod n c 0666 1 3; mkfifo p -- open n wo,trunc; open n rw,creat; open p rw,trunc; truncate n 0
`

const unlinkedStories = `
file: fill a 9; open a rw =h -- unlink a; fstat h; write h 20; pread h 0 50; ftruncate h 3; fchmod h 0600; fchown h 1001 1001; futimens h 5 6; fstat h; fallocate h 0 0 8000; fsync h; linkfd h b; close h
by-other-name: fill a 9; link a b; open a rw =h -- unlink a; fstat h; write h 20; stat b; unlink b; fstat h; linkfd h c
dir: mkdir d; open d ro,dir =h -- rmdir d; fstat h; fchmod h 0700; fstat h; readdir .; futimens h 5 6
cwd: mkdir d -- chdir d; rmdir ../d; getcwd; create x; mkdir y; readdir .; stat .; open . ro; stat ..
replaced: fill a 9; fill b 20; open a rw =h -- rename b a; fstat h; write h 3; unlink a; fstat h
reused-name: fill a 9; open a rw =h -- unlink a; create a; write h 5; stat a; fstat h; link a b; fstat h
mapped: fill a 9000; open a rw =h -- unlink a; mapwrite h 0 100; mapread h 0 4096; fstat h; close h
xattr-gone: fill a 9; setxattr a user.k v; open a rw =h -- unlink a; create a; getxattr a user.k
`

const linkStories = `
several: fill a 9 -- link a b; link b c; stat a; unlink a; stat b; chmod c 0600; truncate b 3; unlink b; stat c; unlink c
kinds: mkdir d; symlink x l; mkfifo p; bind s; mknod n c 0666 1 3 -- link d e; link l k; link p q; link s t; link n m; linkto l z
dir-links: mkdir d -- mkdir d/a; mkdir d/b; stat d; rename d/a e; stat d; rmdir e; rmdir d/b; stat d; stat .
protected: fill a 9 0600; chown a 1002 1002; fill s 9; chown s 1002 1002; chmod s 04755; fill w 9 0666; chown w 1002 1002 -- @1001 link a b; @1001 link s t; @1001 link w x; @1002 link a c; @1001+fowner link a d
over: fill a 9; fill b 3; mkdir d -- link a b; link a d; link a a; link a .; link a d/x; link nope y; link a nope/y
to-symlink: fill a 9; symlink nope l -- link a l; linkto l b
from-handle: fill a 9; open a ro =h; open a path =p -- linkfd h b; linkfd p c; @1001 linkfd h d; unlink a; linkfd h e
times-shared: fill a 9; link a b -- utimens a 5 6; stat b; write h 0; setxattr b user.k v; getxattr a user.k
`

const tmpfileStories = `
named-later: open . rw,tmp 0640 =h -- write h 9; fstat h; linkfd h a; stat a; linkfd h b; write h 3; close h
excl: open . rw,tmp,excl 0640 =h -- linkfd h a
vanishes: -- open . wo,tmp 0600 =h; write h 9; close h; readdir .
user: mkdir d; chown d 1001 1001; mkdir e 0755 -- @1001 open d rw,tmp 0666 =h; @1001 write h 4; fstat h; @1001 open e rw,tmp; linkfd h d/a; @1001 open d rw,tmp 06777 =g; fstat g
setgid: mkdir d; chown d 0 2000; chmod d 02777 -- @1001 open d rw,tmp 0666 =h; fstat h; linkfd h d/a
acl: mkdir d 0777; setacl d default u:7,U1002:5,g:5,m:7,o:5 -- @1001 open d rw,tmp 0666 =h; linkfd h d/a
attributes: open . rw,tmp 0600 =h -- fchmod h 0644; fchown h 1001 2000; futimens h 5 6; ftruncate h 100; fallocate h 0 0 9000; fstat h; linkfd h a
`

const sparseStories = `
truncate-up: create a 0644; truncate a 100000; open a rw =h -- pwrite h 50000 10; lseek h 0 data; lseek h 0 hole; lseek h 50000 hole; lseek h 60000 data; lseek h 100000 data; lseek h 99999 hole; lseek h 100001 hole; lseek h -1 data; lseek h 5 end; lseek h -5 end; lseek h -500000 end
read-only-handle: create a; truncate a 100000; open a wo =w; pwrite w 70000 10; open a ro =h -- lseek h 0 data; lseek h 70000 hole; lseek h 0 hole
punch: fill a 100000; open a rw =h -- fallocate h punch 4096 8192; lseek h 0 hole; lseek h 4096 data; pread h 4000 9000; fallocate h punch 1 10; pread h 0 50; fallocate h punch 90000 50000; fallocate h punch 200000 10; fallocate h punchgrow 0 4096
zero: fill a 100000; open a rw =h -- fallocate h zero 4096 8192; pread h 4000 9000; fallocate h zero 90000 50000; fallocate h zerokeep 150000 5000; fallocate h zero 3 5; pread h 0 20
grow: fill a 10; open a rw =h -- fallocate h 0 0 5; fallocate h 0 5 100; fallocate h keep 0 100000; fallocate h 0 1000000 1; truncate a 10; fallocate h 0 0 0; fallocate h 0 -1 5; fallocate h 0 0 -5; fallocate h 0 9223372036854775807 1
shift: fill a 100000; open a rw =h -- fallocate h collapse 4096 4096; fallocate h insert 4096 4096
unshare: fill a 100000; open a rw =h -- fallocate h unshare 0 4096
append-handle: fill a 10; open a wo,append =h -- fallocate h 0 0 100; fallocate h punch 0 5; ftruncate h 3; write h 4
kinds: mkdir d; mkfifo p -- open d ro =d; fallocate d 0 0 10; open p rw =p; fallocate p 0 0 10
beyond-4g: create a; open a rw =h -- pwrite h 4294967290 20; lseek h 0 data; pread h 4294967295 10; ftruncate h 8589934592; lseek h 4294967400 hole; pwrite h 8589934590 2; fallocate h 0 5000000000 10; truncate a 4294967296; truncate a 0
largest: create a; open a rw =h -- pwrite h 17592186040319 1; pwrite h 17592186044415 1; pwrite h 9223372036854775806 1; pwrite h 9223372036854775807 1; ftruncate h 17592186040320; ftruncate h 17592186044416; ftruncate h 9223372036854775807; fallocate h 0 17592186044415 10; truncate a 0
blocks: create a; open a rw =h -- pwrite h 0 1; pwrite h 8192 1; ftruncate h 1; ftruncate h 1000000; fallocate h 0 0 1000000; fallocate h punch 0 500000; fsync h
mapped-hole: create a; truncate a 100000; open a rw =h -- mapread h 0 8192; mapwrite h 20000 5; lseek h 0 data; fallocate h punch 16384 8192; mapread h 16384 4096
`

const writeStories = `
append: fill a 9; open a wo,append =h; open a wo =g -- write h 3; pwrite h 0 3; write g 2; write h 1; lseek h 0 cur; ftruncate g 2; write h 1
offset: create a; open a rw =h -- write h 5; lseek h 0 cur; lseek h 100 set; write h 5; lseek h -3 cur; read h 10; lseek h 0 end; pwrite h 2 3; lseek h 0 cur; pwrite h -1 3; lseek h -1 set
zero: fill a 9; open a rw =h -- write h 0; pwrite h 100 0; read h 0; pread h 100 5
large: create a; open a rw =h -- write h 3000001; lseek h 0 cur; pread h 1048570 20; pread h 2999990 20; pwrite h 1048575 2; pread h 1048570 10
readers-see: fill a 5000; open a rw =h; open a ro =r -- pread r 0 5000; pwrite h 100 10; pread r 0 5000; ftruncate h 50; pread r 0 5000; ftruncate h 5000; pread r 0 5000; pwrite h 6000 10; pread r 0 9000; fallocate h punch 0 4096; pread r 0 9000
sync: create a; open a rw,sync =h; open a rw,dsync =g -- write h 100; write g 100; fsync h; fdatasync g
sendfile: fill a 9000; open a ro =h; create b; open b wo =g; open b wo,append =k -- sendfile h g 5000; sendfile h k 5000; sendfile h g 5000
splice: create a; open a wo =h; open a wo,append =g -- splice h 4000; splice g 100; splice h 50
`

const nodeStories = `
fifo: -- mkfifo p 0640; mkfifo p; mknod q p 0600; @1001 mkfifo r 0666; stat p; truncate p 0; chmod p 0600; unlink p
devices: -- mknod c c 0644 1 3; mknod b b 0600 7 200; mknod big c 0600 4095 1048575; mknod z c 0 0 0; open c rw =h; write h 5; read h 5; open big ro; stat c; @1001 mknod d c 0644 1 3; @1001+mknod mknod e c 0644 1 3; @1001 mknod w c 0 0 0; @0-mknod mknod x b 0644 1 3
socket: -- bind s; bind s; mknod t s 0600; open s rw; stat s; link s u; rename s v; unlink v; @1001 bind w
plain: -- mknod a f 0640; mknod b 0 0600; mknod d d 0700; mknod a f 0640; @1001 mknod e f 06777
`

const flagStories = `
append-only: fill a 9 0666; chattr a +a -- open a wo; open a wo,append =h; write h 3; pwrite h 0 2; ftruncate h 1; truncate a 1; open a rw,append; open a wo,append,trunc; open a ro =r; read r 20; unlink a; rename a b; link a c; chmod a 0600; chown a 1 1; utimens a 5 6; utimens a now now; setxattr a user.k v; setfl h wo; fallocate h 0 0 50; fallocate h keep 0 50; fallocate h punch 0 5; @1001 open a wo,append =u; @1001 write u 3
append-only-later: fill a 9 0666; open a rw =h; open a rw,append =g; chattr a +a -- write h 3; write g 3; ftruncate h 1; setfl g rw; setfl h rw,append; mapwrite h 0 3
immutable: fill a 9 0666; chattr a +i -- open a wo; open a wo,append; open a ro; truncate a 1; unlink a; rename a b; link a c; chmod a 0600; chown a 1 1; utimens a 5 6; utimens a now now; setxattr a user.k v; setacl a access u:6,g:6,o:0; access a w; @1001 access a w; chattr a -; unlink a
!immutable-later: fill a 9 0666; open a rw =h; chattr a +i -- write h 3; pwrite h 0 2; ftruncate h 1; fallocate h 0 0 100; fchmod h 0600; fstat h; mapwrite h 0 3; futimens h 5 6; open . ro,dir =d; syncfs d
immutable-dir: mkdir d 0777; fill d/a 3 0666; chattr d +i -- create d/b; unlink d/a; rename d/a b; mkdir d/e; open d/a wo =h; write h 3; chmod d 0700; rmdir d; rename d e; open d rw,tmp; symlink x d/l; link d/a q
append-dir: mkdir d 0777; fill d/a 3; chattr d +a -- create d/b; unlink d/a; rename d/a b; rename d/a d/c; mkdir d/e; rmdir d/e; link d/a d/f; rename d/a d/b exchange; chmod d 0700; open d/a wo =h; write h 1
who: fill a 9; chown a 1001 1001 -- @1001 chattr a +d; @1001 chattr a +i; @1002 chattr a +d; @1001+linux_immutable chattr a +i; @1001 chattr a -; lsattr a; @0-linux_immutable chattr a -; chattr a -; @1002 lsattr a; mkdir d; chattr d +d; mkdir d/e; lsattr d/e; create d/f; lsattr d/f
`

var nameStories = "bytes: -- create \x01; create \xff\xfe; create a\\b; create *?; create ' ; create -; create ... ; create \xc3\xa9; create e\xcc\x81; create A; create a; mkdir \x7f; symlink \xff \x80; rename \xff\xfe \xfe; unlink \x01\n" + `
long: -- create <n255>; mkdir <n254>; symlink <n255> l; link <n255> <n253>; rename <n253> <n252>; unlink <n255>; rmdir <n254>; create <n256>; readdir .
deep-path: -- create <p4095:a>; open <p4095:a> ro; unlink <p4095:a>; mkdir <p4096:b>; symlink <p4095:a> l; readlink l; symlink <p4096:a> m; readlink l 10
link-length: -- symlink <n1> a; symlink <n4095> b; symlink '' c; readlink b; lstat b; readlink a 1
`

const mapStories = `
shared: fill a 9000; open a rw =h; open a ro =r -- mapwrite h 100 50; pread r 0 9000; pread h 0 9000; mapread r 0 8192; pwrite h 200 10; mapread r 0 8192; mapwrite h 8990 10 none; pread r 8000 2000; mapwrite h 4000 200 async; pread h 3900 400
read-handle: fill a 9000; open a ro =r; open a wo =w; open a wo,append =p -- mapwrite r 0 5; mapwrite w 0 5; mapread w 0 4096; mapread r 0 4096; mapwrite p 0 5
past-end: fill a 100; open a rw =h -- mapwrite h 200 50; pread h 0 4096; ftruncate h 4096; pread h 0 4096; mapread h 0 4096
past-end-write: fill a 100; open a rw =h -- mapwrite h 200 50; pwrite h 1000 5; pread h 0 4096; mapread h 0 4096
append-handle: fill a 9000; open a rw,append =h -- mapwrite h 100 50; pread h 0 9000; write h 5; mapwrite h 9000 4
truncated: fill a 9000; open a rw =h -- ftruncate h 5000; mapread h 0 4096; mapwrite h 4990 10; ftruncate h 9000; mapread h 4096 4904
direct-handle: fill a 8192; open a rw,direct =h -- mapwrite h 0 100; direct h read 0 8192 0; direct h write 4096 4096 0; mapread h 4096 4096
new: create a; open a rw =h; ftruncate h 10000 -- mapwrite h 0 10000; fsync h; pread h 0 10000
kinds: mkdir d; mkfifo p -- open d ro =d; mapread d 0 4096; open p rw =p; mapread p 0 4096
`

const runStories = `
script: fill x 0 -- run cp /bin/true t; run ./t; chmod t 0600; run ./t; chmod t 0711; @1001 run ./t; @1001 open t ro
copied: -- run cp /bin/echo e; run ./e hello; run mv e f; run ./f again; run ln f g; run ./g more; unlink f; run ./g still
busy: -- run cp /bin/true t; open t wo =h; run ./t; close h; run ./t
suid: -- run cp /usr/bin/id i; chown i 1002 1002; chmod i 04755; @1001 run ./i -u; run ./i -u; chmod i 06755; @1001 run ./i -g; @1001 run ./i -G
suid-cleared: -- run cp /usr/bin/id i; chmod i 04777; @1001 run ./i -u; @1001 open i wo =h; @1001 pwrite h 0 0; close h; chmod i 06777; @1001 stat i; @1001 truncate i 900000; @1001 run ./i -u
no-exec-dir: mkdir d 0700 -- run cp /bin/true d/t; @1001 run d/t; chmod d 0711; @1001 run d/t
interpreter: -- run cp /bin/sh sh; run ./sh -c pwd>/dev/null; run sh -c printf>s; run ./s
not-a-program: fill a 100 0755; fill b 0 0755 -- run ./a; run ./b
`

const copyStories = `
ranges: fill a 10000; open a ro =a; create b; open b rw =b -- copy a 0 b 0 10000; copy a 5000 b 100 20; copy a 9000 b 20000 5000; copy a 10000 b 0 5; copy a 20000 b 0 5; copy a 0 b 0 0; copy b 0 b 1000 500; copy b 0 b 100 500; copy a -1 b 0 5; copy a 0 b -1 5
handles: fill a 100; fill b 100; open a ro =r; open b wo =w; open b wo,append =p; open b ro =q; open . ro =d; open a path =t; mkfifo f; open f rw =f -- copy r 0 w 0 10; copy r 0 p 0 10; copy r 0 q 0 10; copy w 0 r 0 10; copy d 0 w 0 10; copy r 0 d 0 10; copy t 0 w 0 10; copy r 0 f 0 10; copy f 0 w 0 10
same-name: fill a 100; open a rw =a; open a rw =b -- copy a 0 b 200 100; copy a 0 b 50 100
sparse: create a; truncate a 1000000; open a rw =a; pwrite a 500000 10; create b; open b rw =b -- copy a 0 b 0 1000000; stat b; lseek b 0 data
coreutils: fill a 10000; utimens a 5.5 6.6; setxattr a user.k v -- run cp a b; run cp -p a c; run cp --preserve=all a d; run cp --reflink=auto a e; run cp --sparse=always a f; run cp -l a g; run cp -s a h
huge: create a; truncate a 5000000000; open a rw =a; pwrite a 4999999990 10; create b; open b rw =b -- copy a 0 b 0 100; copy a 4999999980 b 4999999980 20; stat b; truncate a 0; truncate b 0
`

const directStories = `
aligned: fill a 65536; open a rw,direct =h -- direct h read 0 4096 0; direct h read 4096 65536 0; direct h write 8192 4096 0; direct h read 8192 4096 0; direct h write 65536 8192 0; direct h read 65536 8192 0; fstat h
end-of-file: fill a 5000; open a rw,direct =h -- direct h read 4096 4096 0; direct h read 8192 4096 0; direct h write 4096 4096 0; fstat h
append: fill a 4096; open a rw,direct,append =h -- direct h write 0 4096 0; fstat h; direct h read 4096 4096 0
append-plain: fill a 4096; open a wo,append =h -- setfl h wo,append,direct; direct h write 0 4096 0; fstat h
mixed: fill a 65536; open a rw,direct =h; open a rw =g; open a ro =r -- pread r 0 65536; direct h write 4096 4096 0; pread r 0 65536; pwrite g 5000 10; direct h read 4096 4096 0; mapread r 0 65536
read-only: fill a 65536; open a ro,direct =h -- direct h read 0 65536 0; direct h read 61440 8192 0
`

const dirStories = `
remove: mkdir d; fill d/a 1 -- rmdir d; unlink d; unlink d/a; unlink d; rmdir d; rmdir d
nlink: -- mkdir a; mkdir a/b; mkdir a/b/c; stat a; rmdir a/b/c; stat a/b; rmdir a/b; stat a; stat .
sizes: mkdir d -- create d/<n200>; stat d; unlink d/<n200>; stat d
fsync: mkdir d; open d ro =h -- create d/a; fsync h; fdatasync h; syncfs h
setgid-nested: mkdir d; chown d 0 2000; chmod d 02775 -- mkdir d/e; mkdir d/e/f 0700; create d/e/g; @1001:1001,2000 mkdir d/h; @1001:2000 mkdir d/i 02700
modes: -- mkdir a 0; mkdir b 07777; mkdir c 01700; @1001 mkdir e 06755; @1001 mkdir f 0; @1001 rmdir f; @1001 chmod e 02755
dot-entries: mkdir d -- rmdir d/.; rmdir d/..; unlink d/.; mkdir .; mkdir ..; mkdir d/..; rmdir .; rename . x; link . y
`
