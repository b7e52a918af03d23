package fenceagent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// Trusted reports why somebody other than root, or than who asks, could change the file: it belongs to him, others may write it, or a
// directory above. Links are followed, and what is above each counts.
func Trusted(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return err
	}
	return errors.Join(trustedUp(filepath.Dir(abs), abs), trustedUp(real, abs))
}

// trustedUp checks a path and all directories above it.
func trustedUp(path, whole string) error {
	for {
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok || sys.Uid != 0 && sys.Uid != uint32(os.Geteuid()) {
			return fmt.Errorf("%s does not belong to root, so %s cannot be trusted", path, whole)
		}
		sticky := st.IsDir() && st.Mode()&os.ModeSticky != 0 // there nobody replaces another's file
		if st.Mode()&0o022 != 0 && !sticky {
			return fmt.Errorf("others than root may write %s, so %s cannot be trusted", path, whole)
		}
		if path == "/" || path == "." {
			return nil
		}
		path = filepath.Dir(path)
	}
}
