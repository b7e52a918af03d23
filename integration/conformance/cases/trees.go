package cases

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

var t1 = time.Unix(1000000000, 123456789)

var treeCases = []Case{
	{Name: "tree/deep", Run: deepTreeCase}, {Name: "tree/deep-names", Run: func(t *Trial) { deepNames(t, strings.Repeat("n", 255), 40) }},
	{Name: "tree/links", Slow: true, Run: manyLinksCase}, {Name: "tree/wide", Slow: true, Alone: true, Run: wideTreeCase},
	{Name: "tree/symlink-chain", Run: symlinkChainCase}, {Name: "tree/inode-numbers", Run: inodeNumbersCase},
}

// sortNotes orders notes that were made in the order of a map.
func (t *Trial) sortNotes() { slices.Sort(t.notes) }

func deepTreeCase(t *Trial) { deepNames(t, "d", 600) }

// deepNames goes down further than a path can name, and works there.
func deepNames(t *Trial, name string, depth int) {
	t.as("0", func() {
		for i := range depth {
			if err := unix.Mkdir(name, 0o777); err != nil {
				t.Note("mkdir %d: %s", i, errnoOf(err))
			}
			must(unix.Chdir(name))
		}
		t.Result("create", os.WriteFile("f", []byte("deep"), 0o666))
		text, err := os.ReadFile("f")
		t.Note("%s %s", text, errnoOf(err))
		buf := make([]byte, 64<<10)
		n, err := unix.Getcwd(buf)
		t.Note("cwd of its length %v: %s", n > depth*(len(name)+1), errnoOf(err))
		var st unix.Stat_t
		t.Result("dotdot", unix.Stat(strings.Repeat("../", depth-1)+"..", &st))
		t.Result("rename the top", unix.Rename(t.At(name), t.At("moved")))
		t.Result("rename here", unix.Rename("f", "g"))
		t.Result("link up", unix.Link("g", "../g"))
		t.Result("home", unix.Chdir(t.Dir))
	})
}

// manyLinksCase makes one inode have many names.
func manyLinksCase(t *Trial) {
	t.file("f", 10)
	for i := range 3000 {
		must(os.Link(t.At("f"), t.At(fmt.Sprint("l", i))))
	}
	var st unix.Stat_t
	must(unix.Stat(t.At("l2999"), &st))
	t.Note("%d links", st.Nlink)
	for i := range 2990 {
		must(os.Remove(t.At(fmt.Sprint("l", i))))
	}
	must(unix.Stat(t.At("f"), &st))
	t.Note("%d links", st.Nlink)
	must(os.WriteFile(t.At("l2995"), []byte("through another name"), 0))
	text, err := os.ReadFile(t.At("f"))
	t.Note("%s %s", text, errnoOf(err))
}

func wideTreeCase(t *Trial) {
	for i := range 40 {
		must(os.Mkdir(t.At(fmt.Sprint("d", i)), 0o777))
		for j := range 100 {
			must(os.WriteFile(t.At(fmt.Sprint("d", i), fmt.Sprint("f", j)), fmt.Append(nil, i, j), 0o666))
		}
	}
	var st unix.Stat_t
	must(unix.Stat(t.Dir, &st))
	t.Note("%d links", st.Nlink)
	t.shell("du", "sh", "-c", "du -s --apparent-size . | cut -f1; find . -type f | wc -l; find . | sort | md5sum; cat d*/f* | md5sum")
	t.shell("move", "mv", "d1", "d2", "d3/")
	t.shell("copy", "cp", "-a", "d3", "copy")
	t.shell("differ", "diff", "-r", "d3", "copy")
	t.shell("remove", "rm", "-r", "d3")
}

func symlinkChainCase(t *Trial) {
	t.file("l0", 5)
	for i := range 45 {
		must(os.Symlink(fmt.Sprint("l", i), t.At(fmt.Sprint("l", i+1))))
	}
	for _, i := range []int{1, 39, 40, 41, 45} {
		_, err := os.ReadFile(t.At(fmt.Sprint("l", i)))
		t.Result(fmt.Sprint(i), err)
	}
}

// inodeNumbersCase: numbers stay over rename, link, write and close, and are the same in stat, fstat and
// readdir.
func inodeNumbersCase(t *Trial) {
	t.file("f", 10)
	ino := func(name string) uint64 {
		var st unix.Stat_t
		must(unix.Lstat(t.At(name), &st))
		return st.Ino
	}
	n := ino("f")
	must(os.Link(t.At("f"), t.At("g")))
	must(os.Rename(t.At("f"), t.At("h")))
	t.Note("link %v, renamed %v", ino("g") == n, ino("h") == n)
	must(os.Remove(t.At("g")))
	must(os.WriteFile(t.At("h"), operation.Pattern(50000, 1), 0))
	var st unix.Stat_t
	must(unix.Fstat(t.openAt("h", unix.O_RDONLY), &st))
	t.Note("written %v, fstat %v", ino("h") == n, st.Ino == n)
	for _, e := range readRest(t.openAt(".", unix.O_RDONLY), 4096) {
		if e.name == "h" {
			t.Note("readdir %v", e.ino == n)
		}
	}
}
