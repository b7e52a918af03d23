package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// edit is a snippet of the source and its replacement. The snippet occurs exactly once.
type edit struct{ file, old, with string }

// injectPath is the package that says which rule is broken.
const injectPath = "github.com/jvsfs/jvsfs/integration/torture/inject"

// overlay writes the changed files into a directory, and the list of them that `go build -overlay` reads. The tree is never touched.
func overlay(root, dir string, edits []edit) (list string, err error) {
	changed := map[string][]byte{}
	for _, e := range edits {
		b, known := changed[e.file]
		if !known {
			if b, err = os.ReadFile(filepath.Join(root, e.file)); err != nil {
				return "", err
			}
			b = bytes.Replace(b, []byte("import (\n"), []byte("import (\n	\""+injectPath+"\"\n"), 1)
		}
		if n := bytes.Count(b, []byte(e.old)); n != 1 {
			return "", fmt.Errorf("a snippet is %d times in %s, not once: the mutant has to follow the code:\n%s", n, e.file, e.old)
		}
		changed[e.file] = bytes.Replace(b, []byte(e.old), []byte(e.with), 1)
	}
	replace := map[string]string{}
	for file, text := range changed {
		replace[filepath.Join(root, file)] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[filepath.Join(root, file)], text, 0o600); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list = filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, b, 0o600)
}

// buildMutants builds a jvsfs that breaks the rule whose name plan.BrokenEnv has.
func buildMutants(root, dir string) (jvsfs string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	list, err := overlay(root, dir, allEdits())
	if err != nil {
		return "", err
	}
	jvsfs = filepath.Join(dir, "jvsfs")
	cmd := exec.Command("go", "build", "-tags", "jvsfs_torture", "-overlay", list, "-o", jvsfs, "./cmd/jvsfs")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return jvsfs, nil
}

// allEdits are those of all mutants, each once: some have an edit in common.
func allEdits() []edit {
	var all []edit
	for _, m := range mutants {
		for _, e := range m.edits {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}
