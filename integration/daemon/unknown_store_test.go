package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

func init() {
	// named serve: the directory Path shown at To, by a FUSE whose type is Name.
	operation.Add("named serve", func(_ *operation.Box, c operation.Command) error {
		root, err := fs.NewLoopbackRoot(c.Path)
		if err != nil {
			return err
		}
		_, err = fs.Mount(c.To, root, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: c.Path, Name: c.Name}})
		return err
	})
}

// A directory on a FUSE that nobody knows may be another host's, too. With records that only this host sees it is not mounted, and the
// error says how it is. The FUSE of a directory of this host is as that directory is.
func TestADirectoryOnAnUnknownFUSEIsRefusedWithLocalRecords(t *testing.T) {
	for kind, refused := range map[string]bool{"someones": true, "bindfs": false} {
		t.Run(kind, func(t *testing.T) {
			m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
			at := filepath.Join(m.Base, "at")
			require.NoError(t, os.Mkdir(at, 0o755))
			harness.StartActor(t, "server").OK(harness.Command{Op: "named serve", Path: m.Source, To: at, Name: kind})
			t.Cleanup(func() {
				m.Unmount() // before what it lies over
				require.NoError(t, unix.Unmount(at, unix.MNT_DETACH))
			})
			m.Source, m.View = at, at
			if !refused {
				m.Mount()
				return
			}
			_, errs, exit := m.CLI("mount", at, m.Mountpoint, "--control", m.LockDir, "--log-file", m.LogFile())
			require.Equal(t, harness.ExitUsage, exit, errs)
			for _, says := range []string{"a FUSE file system that jvsfs does not know (fuse.someones", m.LockDir, "two hosts could hold the lease", "--local-only",
				"--control " + filepath.Join(at, ".jvsfs-locks")} {
				require.Contains(t, errs, says)
			}
			require.Empty(t, harness.TopType(t, m.Mountpoint))
			only, link := filepath.Join(m.Base, "only-here"), filepath.Join(at, "link")
			require.NoError(t, os.Mkdir(only, 0o700))
			require.NoError(t, os.Symlink(only, link))
			_, errs, exit = m.CLI("mount", at, m.Mountpoint, "--control", filepath.Join(link, "control"), "--log-file", m.LogFile())
			require.Equal(t, harness.ExitUsage, exit, "records on the store by their name alone: %s", errs)
			require.Contains(t, errs, "two hosts could hold the lease")
			require.NoError(t, os.Remove(link))
			m.Opts.Extra = []string{"--local-only"}
			m.Mount()
			m.Unmount()
			m.Opts.Extra, m.LockDir = nil, filepath.Join(at, ".jvsfs-locks")
			m.Mount()
		})
	}
}
