package fusefs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
)

// prepared is a second server, not attached yet, for the mount point of m.
func prepared(t *testing.T, m *testMount, name string) *Server {
	t.Helper()
	source := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(source, name), nil, 0o644))
	s, err := Open(Options{Source: source, Mountpoint: m.dir, Layout: laidOut(layout.Tree, "x"), Guards: m.opts.Guards})
	require.NoError(t, err)
	require.NoError(t, s.Prepare())
	t.Cleanup(func() {
		s.Discard()
		if t.Failed() && s.Attached() { // otherwise the test has unmounted it; Wait would wait for ever
			_ = unix.Unmount(m.dir, unix.MNT_DETACH)
		}
		s.Wait()
		require.NoError(t, s.Close())
	})
	return s
}

func rootOf(t *testing.T, dir string) int {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	return fd
}

func TestAMountPutBeneathIsNotSeenBeforeTheUpperOneGoes(t *testing.T) {
	m := mounted(t, layout.Tree, func(s string) { require.NoError(t, os.WriteFile(filepath.Join(s, "old"), nil, 0o644)) })
	top := rootOf(t, m.dir)
	s := prepared(t, m, "new")
	require.False(t, s.Attached())
	require.NoError(t, s.AttachBeneath(top))
	require.True(t, s.Attached())
	require.NoError(t, unix.Close(top))
	out, err := sh(t, m.dir, "ls")
	require.NoError(t, err)
	require.Equal(t, "old\n", out)
	unmountedInTime(t, m.Server)
	settle(t, m.dir)
	out, err = sh(t, m.dir, "ls")
	require.NoError(t, err)
	require.Equal(t, "new\n", out)
	// The first one's cleanup wants a mount of its own there.
	unmountedInTime(t, s)
	require.NoError(t, unix.Mount(t.TempDir(), m.dir, "", unix.MS_BIND, ""))
	m.Wait()
	m.major, m.minor = deviceAt(t, m.dir)
}

func deviceAt(t *testing.T, dir string) (major, minor uint32) {
	t.Helper()
	fd := rootOf(t, dir)
	major, minor, err := deviceOf(fd)
	require.NoError(t, err)
	require.NoError(t, unix.Close(fd))
	return major, minor
}

// If the kernel cannot put a mount beneath, the upper one stays below.
func TestAMountPutOverAnotherIsSeenAtOnce(t *testing.T) {
	m := mounted(t, layout.Tree, func(s string) { require.NoError(t, os.WriteFile(filepath.Join(s, "old"), nil, 0o644)) })
	inside := rootOf(t, m.at("old")) // no root of a mount
	s := prepared(t, m, "new")
	require.ErrorIs(t, s.AttachBeneath(inside), ErrNotBeneath)
	require.NoError(t, unix.Close(inside))
	require.False(t, s.Attached())
	top := rootOf(t, m.dir)
	require.NoError(t, s.AttachOver(top))
	require.NoError(t, unix.Close(top))
	settle(t, m.dir)
	out, err := sh(t, m.dir, "ls")
	require.NoError(t, err)
	require.Equal(t, "new\n", out)
	unmountedInTime(t, s)
	out, err = sh(t, m.dir, "ls")
	require.NoError(t, err)
	require.Equal(t, "old\n", out)
}
