package cases

import (
	"fmt"
	"os"
	"strings"
)

// Exceptions are the differences that the kernel makes, each with its cause.
type Exceptions []struct{ pattern, cause string }

// ReadExceptions reads lines "PATTERN<TAB>CAUSE"; # begins a comment.
func ReadExceptions(path string) (all Exceptions, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		pattern, cause, both := strings.Cut(line, "\t")
		if !both {
			return nil, fmt.Errorf("%s: no cause: %s", path, line)
		}
		all = append(all, struct{ pattern, cause string }{pattern, strings.TrimSpace(cause)})
	}
	return all, nil
}

// Cause returns why a case may differ, or nothing.
func (e Exceptions) Cause(name string) string {
	for _, one := range e {
		if Matches(one.pattern, name) {
			return one.cause
		}
	}
	return ""
}
