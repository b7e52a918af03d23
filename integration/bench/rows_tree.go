package main

import (
	"errors"
	"os"
)

func treeRows() []row {
	rows := []row{{"untar", "file", untarJob}, {"rm -rf", "file", removeJob}}
	for _, walk := range [][]string{
		{"find", "find", "."},
		{"grep -r", "grep", "-rq", "a line that is nowhere", "."},
		{"ls -lR", "ls", "-lR", "."},
	} {
		for _, cold := range []bool{false, true} {
			rows = append(rows, walkRow(walk[0], walk[1:], cold))
		}
	}
	return rows
}

func untarJob(b *box) (job, error) {
	tar, err := tarball(b)
	prepare := func() error {
		dir, err := b.fresh("untar")
		return errors.Join(err, os.Remove(dir), b.settle())
	}
	run := func() (int, error) { return treeFiles, unpack(tar, b.path("untar")) }
	return job{prepare, run}, err
}

func removeJob(b *box) (job, error) {
	tar, err := tarball(b)
	prepare := func() error {
		dir, err := b.fresh("untar")
		return errors.Join(err, tool(dir, "tar", "-xf", tar), b.settle())
	}
	run := func() (int, error) { return treeFiles, tool(b.Scratch, "rm", "-rf", b.path("untar")) }
	return job{prepare, run}, err
}

// walkRow is a tool that looks at the whole tree. Warm means that the same tool has
// just done so.
func walkRow(name string, argv []string, cold bool) row {
	suffix := ", warm"
	if cold {
		suffix = ", cold"
	}
	return row{name + suffix, "file", func(b *box) (job, error) {
		walk := func() error { return ignoreNoMatch(tool(b.path("tree"), argv...)) }
		prepare := walk
		if cold {
			prepare = func() error { return b.chill("tree") }
		}
		return job{prepare, func() (int, error) { return treeFiles, walk() }}, tree(b)
	}}
}
