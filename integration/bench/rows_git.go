package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

func gitRows() []row {
	return []row{
		{"git clone", "file", cloneJob},
		{"git status, warm", "file", func(b *box) (job, error) { return statusJob(b, false) }},
		{"git status, cold", "file", func(b *box) (job, error) { return statusJob(b, true) }},
	}
}

// origin is a repository outside of every target, as one behind a network is.
func origin(b *box) (string, error) {
	repo := filepath.Join(b.Scratch, "origin")
	if _, err := os.Stat(repo); err == nil {
		return repo, nil
	}
	tar, err := tarball(b)
	if err != nil {
		return "", err
	}
	if err := unpack(tar, repo); err != nil {
		return "", err
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-qm", "The tree"}, {"gc", "-q"}} {
		if err := tool(repo, append([]string{"git"}, args...)...); err != nil {
			return "", err
		}
	}
	return repo, nil
}

func cloneJob(b *box) (job, error) {
	repo, err := origin(b)
	prepare := func() error {
		_, err := b.fresh("clone")
		return errors.Join(err, b.settle())
	}
	run := func() (int, error) { return treeFiles, clone(repo, b.path("clone")) }
	return job{prepare, run}, err
}

func clone(repo, dir string) error {
	return tool("", "git", "clone", "-q", "file://"+repo, dir)
}

func statusJob(b *box, cold bool) (job, error) {
	repo, err := origin(b)
	if err != nil {
		return job{}, err
	}
	status := func() error { return tool(b.path("repository"), "git", "status", "--short") }
	prepare := status
	if cold {
		prepare = func() error { return b.chill("repository") }
	}
	return job{prepare, func() (int, error) { return treeFiles, status() }}, b.once("repository", func(dir string) error {
		if err := clone(repo, dir); err != nil {
			return err
		}
		// Files as young as the index are read again by each status.
		time.Sleep(1100 * time.Millisecond)
		return errors.Join(tool(dir, "git", "update-index", "-q", "--really-refresh"), tool(dir, "git", "status", "--short"))
	})
}
