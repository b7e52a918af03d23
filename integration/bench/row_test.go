package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(allRows(), refusedRows(), clientRows()) {
		if seen[r.name] || r.unit == "" || r.begin == nil {
			t.Errorf("row %q is there twice or not whole", r.name)
		}
		seen[r.name] = true
	}
}

func TestRowsAreChosen(t *testing.T) {
	if got := len(matchingRows(regexp.MustCompile("^git "))); got != 3 {
		t.Errorf("%d rows of git, want 3", got)
	}
}

// A block that is read twice is not cold the second time.
func TestEachBlockComesUpOnce(t *testing.T) {
	for _, a := range accesses(false) {
		seen := map[int64]bool{}
		for _, off := range a.offsets() {
			seen[off] = true
		}
		if len(seen) != fileSize/a.size {
			t.Errorf("%s: %d offsets, want %d", a.name("read"), len(seen), fileSize/a.size)
		}
	}
}

// Every row works on a plain directory: what it measures elsewhere is the same work.
func TestRowsRunNatively(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	b := &box{Target: "native", Dir: t.TempDir(), Scratch: t.TempDir()}
	b.Backing = b.Dir
	for _, env := range toolEnv(b.Scratch) {
		name, value, _ := strings.Cut(env, "=")
		t.Setenv(name, value)
	}
	for _, r := range allRows() {
		if r.name == "go build" {
			continue // compiles the standard library first
		}
		j, err := r.begin(b)
		if err == nil {
			err = j.prepare()
		}
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		if n, err := j.run(); err != nil || n == 0 {
			t.Errorf("%s: %d operations, %v", r.name, n, err)
		}
	}
}
