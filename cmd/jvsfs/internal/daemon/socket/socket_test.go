package socket

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The mode is the one that is asked for, whatever the umask.
func TestASocketHasItsModeWhateverTheUmask(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	path := filepath.Join(t.TempDir(), "m.sock")
	l, err := Listen(path, 0o660)
	require.NoError(t, err)
	defer l.Close()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o660, info.Mode())
}

// Whoever owns the directory of the socket can put another into the place of the one that
// the socket is made in, at any time: the mode is never given to what lies there.
func TestMetricsSocketIsMadeByDescriptor(t *testing.T) {
	base := t.TempDir()
	victim := filepath.Join(base, "victim")
	require.NoError(t, os.Mkdir(victim, 0o755))
	require.NoError(t, os.Chmod(victim, 0o755)) // whatever the umask
	secret := filepath.Join(victim, bornSocket)
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	_, err := openPrivate(victim)
	require.ErrorContains(t, err, "another directory", "it was swapped before it was opened")
	link := filepath.Join(base, "link")
	require.NoError(t, os.Symlink(victim, link))
	_, err = openPrivate(link)
	require.Error(t, err)

	ours, err := os.MkdirTemp(base, ".jvsfs-")
	require.NoError(t, err)
	fd, err := openPrivate(ours)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, os.Rename(ours, ours+".aside"))
	require.NoError(t, os.Symlink(victim, ours), "it is swapped afterwards")
	s, err := bindIn(fd, 0o666)
	require.NoError(t, err)
	defer s.UnixListener.Close()
	for path, mode := range map[string]os.FileMode{secret: 0o600, filepath.Join(ours+".aside", bornSocket): os.ModeSocket | 0o666} {
		info, err := os.Lstat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), path)
	}
}

// What is at the socket's place already is replaced only when it is a dead socket of
// ours.
func TestMetricsSocketReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)

	_, err = Listen(path, 0o600)
	require.ErrorContains(t, err, "somebody answers there")
	require.NoError(t, dead.Close())
	l, err := Listen(path, 0o600)
	require.NoError(t, err, "nobody answers any more")
	require.NoError(t, l.Close())

	for name, put := range map[string]func() error{
		"is no socket": func() error { return os.WriteFile(path, []byte("precious"), 0o600) },
		"no socket":    func() error { return os.Symlink("/etc/passwd", path) },
		"belongs to user 65534": func() error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return errors.Join(l.Close(), os.Chown(path, 65534, 65534))
		},
	} {
		if os.Geteuid() != 0 && strings.HasPrefix(name, "belongs") {
			continue
		}
		require.NoError(t, put())
		_, err := Listen(path, 0o600)
		require.ErrorContains(t, err, name)
		require.NoError(t, os.Remove(path), "it is still there")
	}
}

// A socket that another daemon has put in the place of ours is not ours to remove.
func TestMetricsSocketOfAnotherStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.sock")
	first, err := Listen(path, 0o600)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	second, err := Listen(path, 0o600)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	require.FileExists(t, path)
	require.NoError(t, second.Close())
	require.NoFileExists(t, path)
}
