package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

const treeFiles = 5000

// plantTree makes a tree of text files as a source repository has it: some deep
// directories, sizes from a few hundred bytes to 16 KiB.
func plantTree(root string) error {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range treeFiles {
		path := filepath.Join(root, fmt.Sprintf("part%d/sub%d/dir%d", i%8, i/8%8, i/64%4), fmt.Sprintf("file%d.txt", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, prose(r, 256<<r.IntN(7)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var words = strings.Fields("lease token guard write read mount holder inode handle fence daemon epoch kernel page name")

func prose(r *rand.Rand, size int) []byte {
	text := make([]byte, 0, size+64)
	for len(text) < size {
		for range 10 {
			text = append(append(text, words[r.IntN(len(words))]...), ' ')
		}
		text = append(fmt.Appendf(text, "%d", r.Uint32()), '\n')
	}
	return text
}

// tarball packs the tree once, outside of every target.
func tarball(b *box) (string, error) {
	path := filepath.Join(b.Scratch, "tree.tar")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	dir, err := os.MkdirTemp(b.Scratch, "tree")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := plantTree(dir); err != nil {
		return "", err
	}
	return path, tool(dir, "tar", "-cf", path, ".")
}

func tree(b *box) error {
	tar, err := tarball(b)
	if err != nil {
		return err
	}
	return b.once("tree", func(path string) error { return unpack(tar, path) })
}

func unpack(tar, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return tool(dir, "tar", "-xf", tar)
}
