package mountcfg

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml/ast"
)

// maxGlobs bounds a list of patterns: each write without a lease is matched against each pattern.
const maxGlobs = 64

// maxGlob is the longest pattern in bytes, as long as a path can be.
const maxGlob = 4096

const (
	gitDir = ".git"
	jvsDir = ".jvs"
)

// checkGlob checks what does not depend on the rest of the configuration. checkGit checks whether
// .git may be named.
func checkGlob(glob string) error {
	switch {
	case glob == "":
		return errors.New("want a pattern, not an empty value")
	case len(glob) > maxGlob:
		return fmt.Errorf("want at most %d bytes", maxGlob)
	case strings.HasPrefix(glob, "/"):
		return errors.New("want a pattern relative to the worktree's root, without a slash in front")
	case strings.ContainsFunc(glob, unicode.IsControl):
		return errors.New("want no control characters")
	case !doublestar.ValidatePattern(glob):
		return errors.New("not a pattern: look for a bracket or brace that is not closed, or a backslash at the end")
	}
	return checkComponents(strings.Split(glob, "/"))
}

func checkComponents(components []string) error {
	everything := true
	for _, c := range components {
		switch {
		case !doublestar.ValidatePattern(c):
			return errors.New("want no slash between brackets or braces; write two patterns")
		case c == "" || c == ".":
			return errors.New("want no empty component and no '.'")
		case c == "..":
			return errors.New("want no '..': a pattern stays below the worktree's root")
		case reaches(c, jvsDir):
			return errors.New(".jvs is never exempt")
		}
		everything = everything && matchesAll(c)
	}
	if everything {
		return errors.New("it matches everything: use mode shared for a worktree that anybody may write")
	}
	return nil
}

// reaches reports whether a component names something that begins with a dot. Wildcards that match
// a dot by chance, as in "*" and "?git", do not: they never match such a name.
func reaches(component, name string) bool {
	return doublestar.MatchUnvalidated(component, name) && !doublestar.MatchUnvalidated(component, "Z"+name[1:])
}

// matchesAll tries names that nobody would mean.
func matchesAll(component string) bool {
	for _, name := range []string{"a", "Zq.7", "_-\u20ac-_ .x"} {
		if component != "**" && !doublestar.MatchUnvalidated(component, name) {
			return false
		}
	}
	return true
}

// checkGit requires two things for .git: its very name in the pattern, and exempt_git.
func checkGit(glob string, allowed bool) error {
	for _, c := range strings.Split(glob, "/") {
		switch {
		case !reaches(c, gitDir):
		case !allowed:
			return errors.New("it reaches into .git: whoever may write there owns the repository; set exempt_git as well if that is meant")
		case c != gitDir:
			return errors.New("write .git itself instead of a pattern that matches it")
		}
	}
	return nil
}

// validateExempt checks the lists against the rest of the configuration.
func (c Config) validateExempt(key string, globs []string) error {
	var errs []error
	if len(globs) > maxGlobs {
		errs = append(errs, fmt.Errorf("%s (%s): want at most %d patterns", key, c.where(key), maxGlobs))
	}
	for i, glob := range globs {
		err := checkGlob(glob)
		if err == nil {
			err = checkGit(glob, c.ExemptGit)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q (%s): %w", key, glob, c.where(itemKey(key, i)), err))
		}
	}
	return errors.Join(errs...)
}

// list reads a list of patterns. An empty list counts: with it a worktree exempts nothing.
func (r *reader) list(key string, to *[]string, entry *ast.MappingValueNode) {
	*to = []string{}
	r.items(entry, keyExempt, "patterns", kindGlobs, func(item ast.Node, text string) {
		if err := checkGlob(text); err != nil {
			r.fail(item, "%s %q: %v", keyExempt, text, err)
			return
		}
		*to = append(*to, text)
		r.c.remember(itemKey(key, len(*to)-1), r.file+":"+strconv.Itoa(item.GetToken().Position.Line))
	})
	r.c.remember(key, r.place(entry))
}
