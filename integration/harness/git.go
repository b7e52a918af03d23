package harness

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// GitEnv is what git is told by its environment, so that it meets no settings but those of
// the repository. home is made.
func GitEnv(t testing.TB, home string) []string {
	t.Helper()
	require.NoError(t, os.MkdirAll(home, 0o755))
	return []string{
		"HOME=" + home, "LC_ALL=C.UTF-8", "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_EDITOR=true", "GIT_TERMINAL_PROMPT=0", "GIT_ADVICE=0",
	}
}

// complaint is what git says on standard error when something is wrong, although it may end well.
var complaint = regexp.MustCompile(`(?mi)^(error|fatal|warning: (unable|failed|could not)|.*(read-only file system|permission denied|operation not permitted|invalid cross-device)).*$`)

// Complaint is the first line of a run that tells of something wrong, "" if none does.
func (r ToolRun) Complaint() string { return complaint.FindString(r.Errs) }

// GitLitter lists what git leaves in a repository's directory only where it could not do as it wished.
func GitLitter(t testing.TB, dir string) (left []string) {
	t.Helper()
	litter := regexp.MustCompile(`^tmp_|^\.tmp-|\.lock$|^gc\.pid$`)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && litter.MatchString(d.Name()) {
			left = append(left, path)
		}
		if notTaken(err) {
			return nil
		}
		return err
	}))
	return left
}
