package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// box is where a row does its work: one target on one medium.
type box struct {
	Target  string `json:"target"`
	Dir     string `json:"dir"`     // the work goes through here
	Backing string `json:"backing"` // and ends up here; Dir itself for native
	Scratch string `json:"scratch"` // outside of every target: tarballs, caches of tools
	Disk    bool   `json:"disk"`
	Refused bool   `json:"refused"` // the calls of the row are to be refused
	Client  int    `json:"client"`  // which of several clients this is
}

func (b *box) path(elem ...string) string { return filepath.Join(append([]string{b.Dir}, elem...)...) }

func (b *box) mounted() bool { return b.Dir != b.Backing }

// once makes something in the target that several rows share, and nothing when an
// earlier row did.
func (b *box) once(name string, make func(path string) error) error {
	path, mark := b.path(name), b.path("."+name+".made")
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := make(path); err != nil {
		return fmt.Errorf("%s on %s: %w", name, b.Target, err)
	}
	return os.WriteFile(mark, nil, 0o644)
}

// fresh empties a directory of the target.
func (b *box) fresh(name string) (string, error) {
	path := b.path(name)
	if err := os.RemoveAll(path); err != nil {
		return "", err
	}
	return path, os.MkdirAll(path, 0o755)
}

// names are paths as the kernel takes them, made before the clock runs.
func (b *box) names(dir, pattern string, n int) []*byte {
	out := make([]*byte, n)
	for i := range out {
		out[i] = cstring(b.path(dir, fmt.Sprintf(pattern, i)))
	}
	return out
}

func cstring(path string) *byte {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		panic(err)
	}
	return p
}
