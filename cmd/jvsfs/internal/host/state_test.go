package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// What says what root runs next is believed only from where nobody else can write.
func TestStateIsRootsAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	var back MountState
	write := func(t *testing.T) string {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o755))
		path := filepath.Join(dir, "dev-0-1.state")
		require.NoError(t, WriteState(path, MountState{Mountpoint: "/mnt"}))
		return path
	}
	require.NoError(t, ReadState(write(t), &back))
	require.Equal(t, "/mnt", back.Mountpoint)
	for name, spoil := range map[string]func(string) error{
		"readable by others":     func(p string) error { return os.Chmod(p, 0o644) },
		"of another user":        func(p string) error { return os.Chown(p, 1000, 0) },
		"a directory for all":    func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) },
		"another's directory":    func(p string) error { return os.Chown(filepath.Dir(p), 1000, 0) },
		"torn":                   func(p string) error { return os.Truncate(p, 20) },
		"gone":                   os.Remove,
		"a link to another file": func(p string) error { return os.Symlink(p, p+".x") },
	} {
		path := write(t)
		require.NoError(t, spoil(path), name)
		if name == "a link to another file" {
			path += ".x"
		}
		require.Error(t, ReadState(path, &back), name)
	}
	left, err := os.ReadDir(filepath.Dir(write(t)))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file stays")
}

func TestProcessOfAnotherBootHasEnded(t *testing.T) {
	p, err := ThisProcess()
	require.NoError(t, err)
	require.Equal(t, lease.Alive, p.Liveness())
	require.True(t, p.SameClock())
	other := p
	other.BootID = "another"
	require.Equal(t, lease.Gone, other.Liveness())
	require.False(t, other.SameClock())
	other = p
	other.Start++
	require.Equal(t, lease.Gone, other.Liveness(), "the number was given to another process")
	other = p
	other.TimeNamespace = "time:[1]"
	require.False(t, other.SameClock())
}
