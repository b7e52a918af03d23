package mountcfg

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxDuration bounds every timing, so that sums of times cannot overflow.
const maxDuration = 365 * 24 * time.Hour

// maxWorktreeID is the longest id in bytes: ids become file names.
const maxWorktreeID = 128

// scopeDefault is the written form of the built-in scope, which is "" in Config.
const scopeDefault = "default"

// enforceReadonly is the value of enforce on a mount that is ro.
const enforceReadonly = "readonly"

// choice is a closed set of words, with reasons against some other words.
type choice struct {
	words  []string
	alias  map[string]string
	refuse map[string]string // word -> why it is not allowed
	other  string            // why no other word is allowed; "" = no reason
}

var (
	modes    = choice{words: []string{"exclusive", "shared"}}
	enforces = choice{
		words: []string{"enforce", "observe", enforceReadonly},
		alias: map[string]string{"true": "enforce"},
		refuse: map[string]string{
			"false": "to look on without refusing use observe, to guard nothing use mode shared",
		},
	}
	onFrees = choice{words: []string{"acquire", "deny", "allow"}}
	scopes  = choice{
		words: []string{scopeDefault, "tree", "session", "user", "cgroup", "mount"},
		alias: map[string]string{"": scopeDefault},
	}
	logFormats = choice{words: []string{"json", "text"}}
	logLevels  = choice{words: []string{"debug", "info", "warn", "error"}}
	caches     = choice{words: []string{"auto", "shared", "exclusive"}}
	layouts    = choice{words: []string{"auto", "tree", "jvs", "jvs-folder", "git"}}
	fileLocks  = choice{words: []string{"everywhere", "mount"}}
	transports = choice{words: []string{"auto", "uring", "dev"}}
	errnos     = choice{
		words: []string{"EROFS", "EACCES", "EPERM", "EBUSY", "EIO"},
		refuse: map[string]string{
			"ESTALE":     "the kernel retries path operations on it, so that every refused create or rename comes twice",
			"EINTR":      "callers take it for a signal and retry at once",
			"EAGAIN":     "callers retry at once",
			"ENOSYS":     "the kernel remembers it and stops asking for the whole mount",
			"EOPNOTSUPP": "the kernel remembers it and stops asking for the whole mount",
			"ENOENT":     "the file would seem to have vanished",
			"ENOSPC":     "people would go and delete files",
			"EDQUOT":     "people would go and delete files",
			"ENOTCONN":   "it is what a dead mount answers",
		},
		other: "tools do not read it as 'you may not write here now'",
	}
)

// parse returns the canonical word, or an error that completes "KEY VALUE: ".
func (ch choice) parse(text string) (string, error) {
	if canonical, ok := ch.alias[text]; ok {
		return canonical, nil
	}
	if slices.Contains(ch.words, text) {
		return text, nil
	}
	if why, ok := ch.refuse[text]; ok {
		return "", fmt.Errorf("want %s: %s", ch, why)
	}
	if ch.other != "" {
		return "", fmt.Errorf("want %s: %s", ch, ch.other)
	}
	return "", fmt.Errorf("want %s", ch)
}

// String lists the words as in a sentence: "a, b or c".
func (ch choice) String() string {
	last := len(ch.words) - 1
	return strings.Join(ch.words[:last], ", ") + " or " + ch.words[last]
}

// parseBool accepts the two words of YAML 1.2 and no other.
func parseBool(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("want true or false")
}

// parseDuration reads a Go duration.
func parseDuration(text string, zero bool) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("want %s, 500ms or 2m", kindDuration.want())
	}
	return d, checkDuration(d, zero)
}

// checkDuration checks a single timing. Records keep milliseconds, so two readers of one lease
// could differ about a finer value.
func checkDuration(d time.Duration, zero bool) error {
	switch {
	case d < 0, d == 0 && !zero:
		return fmt.Errorf("want %s than zero", map[bool]string{true: "no less", false: "more"}[zero])
	case d > maxDuration:
		return fmt.Errorf("want at most %s", maxDuration)
	case d%time.Millisecond != 0:
		return errors.New("want whole milliseconds")
	}
	return nil
}

// checkWorktreeID accepts only ids that are safe as file names on every backing store.
func checkWorktreeID(id string) error {
	if id == "." || id == ".." || id == "" || len(id) > maxWorktreeID || strings.ContainsFunc(id, notInID) {
		return fmt.Errorf("want 1 to %d characters of A-Z a-z 0-9 . _ - other than \".\" and \"..\"", maxWorktreeID)
	}
	return nil
}

func notInID(r rune) bool {
	alnum := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !alnum && r != '.' && r != '_' && r != '-'
}
