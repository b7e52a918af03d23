package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// edit is a snippet of the source and its replacement. The snippet occurs exactly once.
type edit struct{ file, old, with string }

// overlay writes the changed files into a directory, and the list of them that `go build -overlay` reads. The tree is never touched.
func overlay(root, dir string, edits []edit) (list string, err error) {
	changed := map[string][]byte{}
	for _, e := range edits {
		b, known := changed[e.file]
		if !known {
			if b, err = os.ReadFile(filepath.Join(root, e.file)); err != nil {
				return "", err
			}
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

// buildMutant builds a jvsfs with the edits.
func buildMutant(root, dir string, edits []edit) (jvsfs string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	list, err := overlay(root, dir, edits)
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
