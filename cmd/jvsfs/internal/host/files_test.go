package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What others put in the place of a file is told, and neither waited for nor followed.
func TestAFileThatIsNoneIsNotRead(t *testing.T) {
	dir := t.TempDir()
	fifo, link, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	require.NoError(t, os.Symlink("file", link))
	_, err := OpenRegular(fifo)
	require.ErrorContains(t, err, "it is no regular file")
	_, err = OpenRegular(link)
	require.ErrorIs(t, err, unix.ELOOP)
	_, err = OpenRegular(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	f, err := OpenRegular(file)
	require.NoError(t, err)
	b := make([]byte, 2)
	n, err := f.Read(b)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, f.Close())
}
