package service

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A user without privileges runs the demonstration, where everything is installed: in a directory of its own,
// and over one of his.
func TestAUserRunsQuickstart(t *testing.T) {
	u := harness.NewUnprivileged(t)
	scripts := filepath.Join(u.Base, "scripts")
	require.NoError(t, os.Mkdir(scripts, 0o755))
	for _, name := range []string{"quickstart.sh", "lib.sh"} {
		text, err := os.ReadFile(filepath.Join("../../scripts", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(scripts, name), text, 0o755))
	}
	u.Must("mkdir ~/mine; echo kept >~/mine/f")
	for _, line := range []string{scripts + "/quickstart.sh", scripts + "/quickstart.sh ~/mine"} {
		out, errs := u.Must(line, "JVSFS_BINARY="+u.Bin, "TMPDIR="+u.Home)
		require.Contains(t, out, "Read-only file system")
		require.Contains(t, out, "Everything went as shown")
		require.Contains(t, errs, "mounted without root")
	}
	out, _ := u.Must("ls ~ ~/mine")
	require.Equal(t, u.Home+":\nmine\n\n"+u.Home+"/mine:\nf\n", out)
}

var asUser = regexp.MustCompile("(?s)```sh runs-as-user\n(.*?)```")

// The commands of the manual for a user without root do as they say.
func TestAUserRunsTheManual(t *testing.T) {
	page, err := os.ReadFile("../../cmd/jvsfs/pages/jvsfs-operations.7.md")
	require.NoError(t, err)
	blocks := asUser.FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, blocks)
	u := harness.NewUnprivileged(t)
	for _, b := range blocks {
		u.Must("set -e\n" + b[1])
	}
	require.FileExists(t, filepath.Join(u.Home, "project", "file"))
}
