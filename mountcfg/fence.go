package mountcfg

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
)

const (
	keyFence       = "fence"
	keyRelyOnFence = "rely_on_fence"
)

const (
	maxFenceWords = 64
	maxFenceWord  = 1024 // bytes
)

// command reads the program of fence and its arguments.
func (r *reader) command(entry *ast.MappingValueNode) {
	var words []string
	before := len(r.errs)
	r.items(entry, keyFence, "a program and its arguments", kindCommand, func(_ ast.Node, word string) { words = append(words, word) })
	if len(r.errs) > before {
		return
	}
	if err := checkFence(words); err != nil {
		r.fail(entry.Value, "%s: %v", keyFence, err)
		return
	}
	r.c.Fence = words
	r.c.remember(keyFence, r.place(entry))
}

// checkFence checks the words. Whether the program may be run is for who runs it.
func checkFence(words []string) error {
	if len(words) == 0 {
		return nil
	}
	if !filepath.IsAbs(words[0]) || filepath.Clean(words[0]) != words[0] {
		return errors.New("want the absolute path of a program first")
	}
	if len(words) > maxFenceWords {
		return fmt.Errorf("want at most %d words", maxFenceWords)
	}
	for _, word := range words {
		if len(word) > maxFenceWord || strings.ContainsFunc(word, unicode.IsControl) {
			return fmt.Errorf("want words of at most %d bytes without control characters", maxFenceWord)
		}
	}
	return nil
}

func (c Config) validateFence() error {
	if err := checkFence(c.Fence); err != nil {
		return fmt.Errorf("%s (%s): %w", keyFence, c.where(keyFence), err)
	}
	if c.RelyOnFence && len(c.Fence) == 0 {
		return fmt.Errorf("%s (%s) needs a fence agent (%s), here and on every other host", keyRelyOnFence, c.where(keyRelyOnFence), keyFence)
	}
	return nil
}
