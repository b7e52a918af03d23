package harness

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
)

// Second mounts the same source once more, with a daemon of its own.
func (m *Mount) Second() *Mount {
	m.T.Helper()
	n := *m
	n.Mountpoint = filepath.Join(m.Base, "mnt2")
	require.NoError(m.T, os.Mkdir(n.Mountpoint, 0o755))
	n.Mounted = false
	n.Mount()
	m.T.Cleanup(n.Unmount)
	return &n
}
