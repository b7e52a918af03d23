package place

import (
	"os"
	"path/filepath"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// SourceOver is what to mount so that the directory path is guarded: the repository that it lies in, of JVS or
// of git, a directory at or above that has records already, or the directory itself. path is clean and absolute.
func SourceOver(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", api.NoPath(path, err)
	}
	if !info.IsDir() {
		return "", api.NoDirectory(path)
	}
	for dir := path; dir != "/"; dir = filepath.Dir(dir) {
		if marks := marksOf(dir); marks.Control || marks.Locator {
			return dir, nil
		}
	}
	if repository, ok := RepositoryOver(path); ok {
		return repository, nil
	}
	p, _, err := Above(path)
	return p.Root, err
}

// RepositoryOver is the directory of the git repository that path lies in: the nearest one at or above that has
// a repository, not only a checkout of one that lies elsewhere.
func RepositoryOver(path string) (string, bool) {
	for dir := path; dir != "/"; dir = filepath.Dir(dir) {
		if repositoryAt(dir) != nil {
			return dir, true
		}
	}
	return "", false
}
