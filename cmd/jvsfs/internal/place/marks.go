package place

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
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
func shortText(path string) string { return strings.TrimSpace(host.TextUpTo(path, 64)) }

// textOf reads a file of some lines.
func textOf(path string) string { return host.TextUpTo(path, 64<<10) }
