package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// story is one top-level test of a package.
type story struct {
	pkg    string // as in ./integration/lease
	dir    string // where its package's files are: a test's working directory
	binary string // the package's tests, compiled
	name   string
}

// long.txt has the stories that take longest, a "package name" in each line. They begin first, so that none of them runs alone at the end.
//
//go:embed long.txt
var longText string

// again is the command that repeats a story alone.
func (s story) again() string {
	return fmt.Sprintf("go test -count=1 -v -run '^%s$' %s", s.name, s.pkg)
}

// collect builds the program and the tests of the packages below work, and lists the stories in the order in which they begin.
func collect(ctx context.Context, work string, o options) ([]story, error) {
	want, err := regexp.Compile(o.run)
	if err != nil {
		return nil, err
	}
	if err := program(ctx, work); err != nil {
		return nil, err
	}
	packages, err := compile(ctx, work, o.packages)
	if err != nil {
		return nil, err
	}
	var all []story
	for _, p := range packages {
		names, err := p.stories(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			p.name = name
			if want.MatchString(name) {
				all = append(all, p)
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no story is like that")
	}
	inOrder(all)
	once := all
	for range o.repeat - 1 {
		all = append(all[:len(all):len(all)], once...)
	}
	return all, nil
}

// program builds what the stories drive, once for all of them, where JVSFS_BINARY names none: as it is shipped, or with the race
// detector, which needs cgo.
func program(ctx context.Context, work string) error {
	if os.Getenv("JVSFS_BINARY") != "" {
		return nil
	}
	out := filepath.Join(work, "jvsfs")
	args, cgo := []string{"build", "-o", out}, "0"
	if os.Getenv("JVSFS_RACE") == "1" {
		args, cgo = append(args, "-race"), "1"
	}
	if err := os.Setenv("CGO_ENABLED", cgo); err != nil {
		return err
	}
	if _, err := goCommand(ctx, append(args, "github.com/jvsfs/jvsfs/cmd/jvsfs")...); err != nil {
		return err
	}
	return os.Setenv("JVSFS_BINARY", out)
}

// compile builds the tests of the packages, with one command: the go command then builds what they share once, and links side by side.
func compile(ctx context.Context, work string, patterns []string) ([]story, error) {
	list, err := goCommand(ctx, append([]string{"list", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{len .TestGoFiles}} {{len .XTestGoFiles}}"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var packages []story
	var paths []string
	for line := range strings.Lines(string(list)) {
		importPath, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dir, files, _ := strings.Cut(rest, "\t")
		if files == "0 0" {
			continue
		}
		paths = append(paths, importPath)
		packages = append(packages, story{pkg: "./" + strings.TrimPrefix(importPath, "github.com/jvsfs/jvsfs/"), dir: dir,
			binary: filepath.Join(work, path.Base(importPath)+".test")})
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no tests in %q", patterns)
	}
	_, err = goCommand(ctx, append([]string{"test", "-c", "-vet=off", "-o", work + "/"}, paths...)...)
	return packages, err
}

// stories are the names of a package's tests.
func (s story) stories(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, s.binary, "-test.list", "^Test")
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: the tests cannot be listed: %w\n%s", s.pkg, err, out)
	}
	return strings.Fields(string(out)), nil
}

// inOrder sorts stories by when they begin: those that take longest first.
func inOrder(all []story) {
	at := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(longText), "\n") {
		at[line] = i - 1<<20
	}
	slices.SortStableFunc(all, func(a, b story) int { return cmp.Compare(at[a.key()], at[b.key()]) })
}

// key names a story in a line of long.txt.
func (s story) key() string { return path.Base(s.pkg) + " " + s.name }

func goCommand(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s%s", args[0], err, out, said.Bytes())
	}
	return out, nil
}
