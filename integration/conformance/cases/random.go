package cases

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// randomCases are scripts that nobody thought of: the same ones in every run.
func randomCases() []Case {
	var all []Case
	for seed := range 600 {
		c := script(fmt.Sprintf("random/%03d", seed), randomScript(uint64(seed)))
		c.Slow = seed >= 100
		all = append(all, c)
	}
	return all
}

// words are what a pattern's letters stand for in a random script.
var words = map[string][]string{
	"P": {"a", "b", "c", "d", "d/a", "d/b", "e", "e/a", "d/e", "l", "e/d/a", "."},
	"N": {"0", "1", "9", "100", "4096", "5000", "70000"},
	"M": {"0777", "0700", "0644", "0", "06755", "01777", "02775", "0600"},
	"U": {"0", "1001", "1002"}, "G": {"-1", "0", "1001", "2000"},
	"F": {"ro", "wo", "rw", "wo,creat", "rw,creat,excl", "wo,trunc", "rw,creat,append", "ro,dir", "rw,trunc,creat"},
	"H": {"h", "g", "k"}, "A": {"keep", "0", "punch", "zero"}, "R": {"0", "noreplace", "exchange"},
	"W": {"", "", "", "@1001 ", "@1001:1001,2000 ", "@1002 "},
}

var randomCommands = []string{
	"open P F M", "open P F M =H", "open P F M =H", "close H", "mkdir P M", "mkdir P M", "rmdir P", "unlink P", "unlink P", "rename P P",
	"rename P P R", "link P P", "symlink P P", "chmod P M", "chown P U G", "lchown P U G", "truncate P N", "write H N", "pwrite H N N", "read H N",
	"ftruncate H N", "fallocate H A N N", "utimens P now now", "utimens P 5 omit", "setxattr P user.k N", "removexattr P user.k", "mkfifo P M",
	"stat P", "readdir P", "copy H N H N N", "fchmod H M", "fchown H U G", "linkfd H P", "mapwrite H N N none",
	"setacl P access u:6,U1001:6,g:4,m:6,o:0", "setacl P default u:7,U1002:5,g:5,m:7,o:0", "open . rw,tmp M =H", "fstat H", "bind P", "access P rw",
}

func randomScript(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	out := []string{"mkdir d 0777; mkdir e 0777; fill a 5000 0666; --"}
	for range 40 {
		out = append(out, words["W"][r.IntN(len(words["W"]))]+filled(r, randomCommands[r.IntN(len(randomCommands))])+";")
	}
	return strings.Join(out, " ")
}

func filled(r *rand.Rand, form string) string {
	all := strings.Fields(form)
	for i, w := range all[1:] {
		key := strings.TrimPrefix(w, "=")
		if choice, is := words[key]; is {
			all[i+1] = w[:len(w)-len(key)] + choice[r.IntN(len(choice))]
		}
	}
	return strings.Join(all, " ")
}
