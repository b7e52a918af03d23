package mountcfg

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// parsePath makes a path absolute and clean. A relative path starts at base, or at the working
// directory if base is "".
func parsePath(text, base string) (string, error) {
	if text == "" {
		return "", errors.New("want a path, not an empty value")
	}
	if strings.ContainsRune(text, 0) {
		return "", errors.New("want a path without NUL bytes")
	}
	return absolute(text, base)
}

// absolute is filepath.Abs with the kernel's meaning of "..": the parent of the directory that a link leads to, and not of the link. The
// working directory is that of getcwd(2), not of $PWD, in which there may be links.
func absolute(path, base string) (string, error) {
	if !filepath.IsAbs(path) {
		if base == "" {
			var err error
			if base, err = unix.Getwd(); err != nil {
				return "", fmt.Errorf("the current directory: %w; give the whole path", err)
			}
		}
		path = base + "/" + path
	}
	at := "/"
	for _, name := range strings.Split(path, "/") {
		if name != ".." {
			at = filepath.Join(at, name)
			continue
		}
		if real, err := filepath.EvalSymlinks(at); err == nil { // what is not there is no link
			at = real
		}
		at = filepath.Dir(at)
	}
	return at, nil
}
