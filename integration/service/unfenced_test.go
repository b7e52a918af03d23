package service

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A mount that would fence nothing, or jvsfs itself, is refused: in place, at another place, and
// over such a directory; whatever name the directory has.
func TestMountRefusesWhatItCannotFence(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	here := func(rel string) string {
		dir := filepath.Join(m.Base, rel)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		return dir
	}
	root, run, logs := here("root"), here("run"), here("logs")
	require.NoError(t, unix.Mount("/", root, "", unix.MS_BIND, ""))
	defer unix.Unmount(root, unix.MNT_DETACH)
	require.NoError(t, unix.Mount("/run/jvsfs", run, "", unix.MS_BIND, ""))
	defer unix.Unmount(run, unix.MNT_DETACH)
	require.NoError(t, os.Symlink(logs, filepath.Join(m.Base, "link")))

	for dir, why := range map[string]string{
		"/":       "/ cannot be guarded",
		root:      "jvsfs itself needs",
		"/proc":   "file system of the kernel's own (proc at /proc)",
		"/sys/fs": "file system of the kernel's own",
		"/run":    "/run/jvsfs", "/run/jvsfs": "/run/jvsfs", run: "/run/jvsfs",
		"/var": "/var/lib/jvsfs", "/var/lib/jvsfs": "/var/lib/jvsfs",
		logs:      "the log of the mount itself",
		m.LockDir: "the lease records of ",
	} {
		for how, args := range map[string][]string{
			"in place":     {dir},
			"elsewhere":    {dir, here("at")},
			"the other by": {m.Source, dir},
		} {
			t.Run(fmt.Sprint(how, " ", dir), func(t *testing.T) {
				args = append([]string{"mount", "--control", m.LockDir}, args...)
				if dir == logs {
					args = append(args, "--log-file", filepath.Join(m.Base, "link", "log"))
				}
				out, errs, exit := m.CLI(args...)
				require.Equal(t, harness.ExitUsage, exit, "%s%s", out, errs)
				require.Contains(t, errs, why)
				require.NotEqual(t, "fuse.jvsfs", harness.TopType(t, dir))
				require.Len(t, m.Daemons(), 1, "no other daemon is left")
			})
		}
	}
}
