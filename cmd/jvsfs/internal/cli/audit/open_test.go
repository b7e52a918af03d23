package audit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What others put in the place of a chain is told, and neither waited for nor followed.
func TestAnAuditChainThatIsNoFileIsNotRead(t *testing.T) {
	dir := t.TempDir()
	fifo, link, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	require.NoError(t, os.Symlink("file", link))
	_, err := openChain(fifo)
	require.ErrorContains(t, err, "it is no regular file")
	_, err = openChain(link)
	require.ErrorIs(t, err, unix.ELOOP)
	_, err = openChain(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	f, err := openChain(file)
	require.NoError(t, err)
	b := make([]byte, 2)
	n, err := f.Read(b)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, f.Close())
}
