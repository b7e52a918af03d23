package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// mutant is a mutation with its place among those of a run.
type mutant struct {
	mutation
	number int   // from 1, see switchName
	alone  error // why it needs a build of its own; nil: it is in that of all
}

// programs are the test programs by package, built once over all mutants.
type programs map[string]string

// build makes the test programs. A mutant that does not compile among the others is left to a build of its own, which says what is wrong with it.
func (r *runner) build(ctx context.Context, dir string, all []mutant) (programs, error) {
	for {
		overlay, err := r.overlayAll(dir, all)
		if err != nil {
			return nil, err
		}
		built, out, err := r.compile(ctx, overlay, dir, all)
		if err == nil {
			return built, nil
		}
		named, fewer := namedIn(out), false
		for i := range all {
			if why, ok := named[all[i].number]; ok {
				all[i].alone, fewer = fmt.Errorf("it does not compile among the others: %s", why), true
			}
		}
		if !fewer || ctx.Err() != nil {
			return nil, fmt.Errorf("the build with all mutants fails: %w\n%s", err, out)
		}
	}
}

// overlayAll writes each file with all its mutants in it, and the file that lays them over the tree. Mutants that no switch can do are marked.
func (r *runner) overlayAll(dir string, all []mutant) (string, error) {
	files := map[string]*rewriting{}
	for i := range all {
		m := &all[i]
		if m.alone != nil {
			continue
		}
		text, err := m.apply(r.root)
		if err != nil {
			return "", err
		}
		if files[m.File] == nil {
			at := filepath.Join(r.root, m.File)
			b, err := os.ReadFile(at)
			if err != nil {
				return "", err
			}
			if files[m.File], err = newRewriting(at, b); err != nil {
				return "", err
			}
		}
		m.alone = files[m.File].add(m.number, text)
	}
	replace, number := map[string]string{}, 0
	put := func(at, text string) error {
		number++
		replace[at] = filepath.Join(dir, fmt.Sprintf("%d-%s", number, filepath.Base(at)))
		return os.WriteFile(replace[at], []byte(text), 0o600)
	}
	for _, w := range files {
		if err := put(w.orig.path, w.text()); err != nil {
			return "", err
		}
		added := filepath.Join(filepath.Dir(w.orig.path), switchFileName)
		if replace[added] == "" {
			if err := put(added, switchFile(w.orig.tree.Name.Name)); err != nil {
				return "", err
			}
		}
	}
	return writeOverlay(dir, replace)
}

func writeOverlay(dir string, replace map[string]string) (string, error) {
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	at := filepath.Join(dir, "overlay.json")
	return at, os.WriteFile(at, list, 0o600)
}

// compile builds the test program of each package. One command builds as many as have names of their own: it writes them into one directory.
func (r *runner) compile(ctx context.Context, overlay, dir string, all []mutant) (programs, []byte, error) {
	built := programs{}
	var todo []string
	for _, m := range all {
		todo = append(todo, m.Package)
	}
	slices.Sort(todo)
	todo = slices.Compact(todo)
	for round := 1; len(todo) > 0; round++ {
		bin := filepath.Join(dir, fmt.Sprint("bin", round)) + "/"
		now, later, names := []string{}, []string{}, map[string]bool{}
		for _, pkg := range todo {
			name := path.Base(pkg)
			if names[name] {
				later = append(later, pkg)
				continue
			}
			names[name] = true
			now, built[pkg] = append(now, pkg), bin+name+".test"
		}
		out, err := r.goCommand(ctx, append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", bin}, now...)...)
		if err != nil {
			return nil, out, err
		}
		todo = later
	}
	return built, nil, nil
}

var mutantError = regexp.MustCompile(`(?m)^\S+\.mutant(\d+):\d+:\d+: (.*)$`)

// namedIn are the mutants that the compiler complains of.
func namedIn(out []byte) map[int]string {
	named := map[int]string{}
	for _, found := range mutantError.FindAllSubmatch(out, -1) {
		if number, err := strconv.Atoi(string(found[1])); err == nil && named[number] == "" {
			named[number] = string(found[2])
		}
	}
	return named
}

// goCommand runs the go command in the module, in a process group of its own, so that nothing outlives an interrupted run.
func (r *runner) goCommand(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd.CombinedOutput()
}
