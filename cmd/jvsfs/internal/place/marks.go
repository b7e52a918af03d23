package place

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
)

// marksOf looks at what a source has in its root. What cannot be looked at counts as not
// there.
func marksOf(dir string) layout.Marks {
	control := filepath.Join(dir, ".jvs")
	info, err := os.Stat(control)
	if err != nil {
		return layout.Marks{Git: repositoryAt(dir)}
	}
	if !info.IsDir() {
		return layout.Marks{Locator: info.Mode().IsRegular()}
	}
	return layout.Marks{
		Control: true, Mode: shortText(filepath.Join(control, "repo_mode")),
		Main: isDir(filepath.Join(dir, "main")), Worktrees: isDir(filepath.Join(dir, "worktrees")),
	}
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// shortText reads a file of one word.
func shortText(path string) string { return strings.TrimSpace(textUpTo(path, 64)) }

// textOf reads a file of some lines.
func textOf(path string) string { return textUpTo(path, 64<<10) }

// textUpTo reads a file that a user wrote: neither a FIFO nor a symbolic link leads anywhere.
func textUpTo(path string, most int64) string {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	return string(text)
}
