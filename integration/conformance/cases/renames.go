package cases

import "fmt"

// objects are the kinds of file that a name, %s, may have.
var objects = map[string]string{
	"nothing": "", "file": "fill %s 4", "dir": "mkdir %[1]s 0777", "full": "mkdir %[1]s 0777; fill %[1]s/in 2", "link": "symlink target %s",
	"fifo": "mkfifo %s 0666", "linked": "fill %[1]s 5; link %[1]s other", "open": "fill %[1]s 6; open %[1]s ro =h", "device": "mknod %s c 0666 1 3",
}

func make1(object, name string) string {
	if object == "" {
		return ""
	}
	return fmt.Sprintf(object, name)
}

func renameCases() []Case {
	var all []Case
	for from, makeFrom := range objects {
		for to, makeTo := range objects {
			for _, flags := range []string{"", "noreplace", "exchange", "whiteout", "noreplace,exchange", "exchange,whiteout", "noreplace,whiteout", "bad"} {
				for _, where := range []string{"b", "e/b"} {
					if from == "open" && to == "open" || from == "linked" && to == "linked" {
						continue
					}
					text := "mkdir e 0777; " + make1(makeFrom, "a") + ";" + make1(makeTo, where) + " -- @%s rename a " + where + " " + flags
					name := fmt.Sprintf("rename/%s/%s/%s/%s", from, to, where, flags)
					all = append(all, script(name+"/root", fmt.Sprintf(text, "0")))
					c := script(name+"/user", fmt.Sprintf(text, "1001"))
					c.Slow = true
					all = append(all, c)
				}
			}
		}
	}
	return append(all, scripts("rename", renameStories)...)
}

const renameStories = `
same-inode: fill a 3; link a b -- rename a b
same-inode-exchange: fill a 3; link a b -- rename a b exchange
into-itself: mkdir a; mkdir a/b -- rename a a/b/c; rename a a/b; rename a/b a; rename a a
over-open: fill a 3; fill b 9; open b rw =h -- rename a b; read h 20; fstat h; write h 5; fstat h
open-source: fill a 3; open a rw =h -- rename a b; write h 5; fstat h; ftruncate h 2
dot: mkdir a -- rename a/. b; rename a/.. b; rename b a/.
dir-over-empty-parents: mkdir a; mkdir b; mkdir b/c; fill a/x 2 -- rename a b/c; rmdir b; rmdir b/c
dotdot-follows: mkdir a; mkdir b; mkdir a/c -- rename a/c b/c; stat b/c/..; lstat b/c
cwd-moves: mkdir a; mkdir b -- chdir a; rename ../a ../b/a; getcwd; create x; stat .
not-empty: mkdir a; mkdir b; fill b/x 2 -- rename a b; unlink b/x; rename a b
trailing-slash: mkdir a; fill f 2 -- rename a/ b/; rename f g/; rename f/ g; rename b c/
exchange-trees: mkdir a; fill a/x 1; mkdir b; mkdir b/y; fill b/y/z 2 -- rename a b exchange; rename a/y b/q; rename a b exchange
exchange-file-dir: mkdir a; fill a/x 1; mkdir d; fill d/f 2 -- rename a d/f exchange; lstat d; readdir d/f
ctime-of-moved: fill a 3; utimens a 10 20 -- rename a b
setgid-dir: mkdir g; chown g 0 2000; chmod g 02777; fill f 1; mkdir d -- rename f g/f; rename d g/d; @1001 mkdir g/e; @1001 create g/n
chain: fill a 1; fill b 2; fill c 3 -- rename a b; rename b c; rename c a; create b; rename b a
whiteout-user: fill a 1; chown . 1001 1001 -- @1001 rename a b whiteout; @1001+mknod rename b c whiteout
long: fill <n255> 1 -- rename <n255> b; rename b <n256>; rename b <n255>
`

// stickyCases combine the owners of a sticky directory, of the file in it and of the file that is replaced,
// with every user who may try.
func stickyCases() []Case {
	calls := map[string]string{
		"unlink": "unlink d/a", "rmdir": "rmdir d/a", "rename-out": "rename d/a out", "rename-in": "rename d/a d/b",
		"replace": "rename in d/a", "exchange": "rename d/a in exchange", "link": "link d/a out",
		"replace-own": "rename d/mine d/a", "chmod": "chmod d/a 0600", "utimens-now": "utimens d/a now now", "truncate": "truncate d/a 1",
		"open-creat": "open d/a wo,creat", "open-write": "open d/a wo",
	}
	var all []Case
	for call, text := range calls {
		for _, dir := range []string{"0", "1001", "1002"} {
			for _, owner := range []string{"0", "1001", "1002"} {
				for kind, object := range map[string]string{"file": "fill d/a 3 0666", "dir": "mkdir d/a 0777", "link": "symlink t d/a", "fifo": "mkfifo d/a 0666"} {
					for _, mode := range []string{"01777", "0777", "03777", "01775"} {
						setup := fmt.Sprintf("mkdir d; %s; fill d/mine 1; chown d/mine 1001 1001; fill in 1; chown in 1001 1001; lchown d/a %[2]s %[2]s; chown d %[3]s %[3]s; chmod d %[4]s",
							object, owner, dir, mode)
						c := script(fmt.Sprintf("sticky/%s/%s/dir-%s/owner-%s/%s", call, kind, dir, owner, mode), setup+" -- @1001 "+text)
						c.Slow = mode != "01777"
						all = append(all, c)
					}
				}
			}
		}
	}
	return all
}
