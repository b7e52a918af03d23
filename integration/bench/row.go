package main

import (
	"regexp"
	"slices"
)

// row is one line of the table.
type row struct {
	name  string
	unit  string                    // what an operation of it is
	begin func(b *box) (job, error) // once for each target; not timed
}

// job is a row on one target.
type job struct {
	prepare func() error        // before each run; not timed
	run     func() (int, error) // timed; returns the number of operations
}

// allRows are in the order of the table.
func allRows() []row {
	return slices.Concat(readRows(), writeRows(), statRows(), smallRows(), nameRows(),
		treeRows(), gitRows(), buildRows(), sqliteRows(), lockRows())
}

func matchingRows(pattern *regexp.Regexp) []row {
	var out []row
	for _, r := range allRows() {
		if pattern.MatchString(r.name) {
			out = append(out, r)
		}
	}
	return out
}

func rowNamed(name string) (row, bool) {
	for _, r := range slices.Concat(allRows(), refusedRows(), clientRows()) {
		if r.name == name {
			return r, true
		}
	}
	return row{}, false
}
