package fenceagent

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Check reports why the agent may not be run: root runs it, so only root may be able to change it.
func (a Agent) Check() error {
	if len(a.Command) == 0 || !filepath.IsAbs(a.Command[0]) {
		return fmt.Errorf("fence %q: want the absolute path of a program", a)
	}
	if err := Trusted(a.Command[0]); err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	st, err := os.Stat(a.Command[0])
	if err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	if !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return fmt.Errorf("fence: %s is not a program", a)
	}
	return nil
}

// mostLinks is how many links a path may go through, as in the kernel.
const mostLinks = 40

// Trusted reports why somebody other than root, or than who asks, could change the file: it belongs to him, others may write it, or a
// directory above. Links are followed as the kernel does, and each counts, with what is above it.
func Trusted(path string) error {
	abs := path // not clean: ".." after a link is the parent of what that leads to
	if !filepath.IsAbs(path) {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		abs = dir + "/" + path
	}
	at, rest, links := "/", split(abs), 0
	if _, err := trusted(at, abs); err != nil {
		return err
	}
	for len(rest) > 0 {
		next := filepath.Join(at, rest[0])
		st, err := trusted(next, abs)
		if err != nil {
			return err
		}
		rest = rest[1:]
		if st.Mode()&os.ModeSymlink == 0 {
			at = next
			continue
		}
		to, err := os.Readlink(next)
		if links++; err != nil || links > mostLinks {
			return cmp.Or(err, fmt.Errorf("%s goes through too many links", abs))
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(split(to), rest...)
	}
	return nil
}

// split are the names in a path.
func split(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// trusted checks one file on the way to the whole. It does not follow a link.
func trusted(path, whole string) (os.FileInfo, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || sys.Uid != 0 && sys.Uid != uint32(os.Geteuid()) {
		return nil, fmt.Errorf("%s does not belong to root, so %s cannot be trusted", path, whole)
	}
	sticky := st.IsDir() && st.Mode()&os.ModeSticky != 0 // there nobody replaces another's file
	if link := st.Mode()&os.ModeSymlink != 0; st.Mode()&0o022 != 0 && !sticky && !link {
		return nil, fmt.Errorf("others than root may write %s, so %s cannot be trusted", path, whole)
	}
	return st, nil
}
