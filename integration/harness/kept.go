package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A failure shows so many lines of a command's output, from its beginning and its end.
const shownHead, shownTail = 6, 12

// kept are the directories that outlive this run, by top-level test; only tests that failed have one.
var kept = struct {
	sync.Mutex
	dirs map[string]string
}{dirs: map[string]string{}}

// keep writes what a failure does not show whole to a file that outlives the test, and says where. JVSFS_TEST_KEEP names
// a directory for such files; without it they are where temporary files are.
func keep(t testing.TB, name string, text []byte) string {
	kept.Lock()
	defer kept.Unlock()
	test := topLevel(t)
	dir, err := kept.dirs[test], error(nil)
	if dir == "" {
		dir, err = os.MkdirTemp(os.Getenv("JVSFS_TEST_KEEP"), "jvsfs-failed-"+test+"-")
		kept.dirs[test] = dir
	}
	path := filepath.Join(dir, name)
	for i := 2; err == nil && exists(path); i++ {
		path = filepath.Join(dir, fmt.Sprint(name, "-", i))
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return "not kept: " + err.Error()
	}
	return path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func topLevel(t testing.TB) string {
	top, _, _ := strings.Cut(t.Name(), "/")
	return top
}

// Shown is the output of a command as a failure's message shows it: a long one is cut in the middle, and then kept whole
// in a file that it names.
func Shown(t testing.TB, text string) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) <= shownHead+shownTail+1 {
		return text
	}
	return strings.Join(lines[:shownHead], "") +
		fmt.Sprintf("... %d lines left out; all of it: %s\n", len(lines)-shownHead-shownTail, keep(t, "output", []byte(text))) +
		strings.Join(lines[len(lines)-shownTail:], "")
}
