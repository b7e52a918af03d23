package harness

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// startedIn is where go test starts a test binary: the directory of its package. Tests may go elsewhere.
var startedIn, _ = os.Getwd()

// ofThisRun are variables that say something of one run only: they mean nothing to the next.
var ofThisRun = []string{actorEnv, insideEnv, "JVSFS_TEST_LEFT", "JVSFS_TEST_RUN", "JVSFS_TEST_MINUTES", "JVSFS_TEST_KEEP", "JVSFS_TOKEN",
	"JVSFS_DOCS_BINARY"}

// Again is the command that repeats one test alone, in the root of the repository, with what this run was told.
func Again(test string) string {
	words := told(os.Environ())
	words = append(words, "go", "test", "-count=1")
	words = append(words, builtWith()...)
	var levels []string
	for _, level := range strings.Split(test, "/") {
		levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
	}
	return strings.Join(append(words, "-run", quoted(strings.Join(levels, "/")), packageDir()), " ")
}

// told are the settings of the environment. A binary in a temporary directory was built for this run and will be gone:
// without it, the same is built again.
func told(environ []string) []string {
	environ = slices.Sorted(slices.Values(environ))
	var words []string
	for _, setting := range environ {
		name, value, _ := strings.Cut(setting, "=")
		temporary := name == "JVSFS_BINARY" && (strings.HasPrefix(value, os.TempDir()+"/") || strings.HasPrefix(value, "/var/tmp/"))
		if name != "GOMAXPROCS" && !strings.HasPrefix(name, "JVSFS_") || slices.Contains(ofThisRun, name) || temporary {
			continue
		}
		words = append(words, name+"="+quoted(value))
	}
	return words
}

// builtWith are the options that the test binary was built with.
func builtWith() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var options []string
	for _, s := range info.Settings {
		switch {
		case s.Key == "-race" && s.Value == "true":
			options = append(options, "-race")
		case s.Key == "-tags" && s.Value != "":
			options = append(options, "-tags="+s.Value)
		}
	}
	return options
}

// packageDir names the package from the root of its module.
func packageDir() string {
	for root := startedIn; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			rel, err := filepath.Rel(root, startedIn)
			if err != nil {
				return startedIn
			}
			return "./" + rel
		}
		if root == filepath.Dir(root) {
			return startedIn
		}
	}
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted is a word for the shell.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
