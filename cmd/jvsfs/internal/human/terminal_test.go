package human

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

func TestColumnsAreThoseOfATerminal(t *testing.T) {
	master, tty, err := pty.Open()
	require.NoError(t, err)
	defer master.Close()
	defer tty.Close()
	require.Equal(t, usualColumns, Columns(tty), "it has told no size")
	require.NoError(t, pty.Setsize(master, &pty.Winsize{Rows: 5, Cols: 132}))
	require.Equal(t, 132, Columns(tty))
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	defer file.Close()
	require.Zero(t, Columns(file))
	require.Zero(t, Columns(&bytes.Buffer{}))
	require.Zero(t, Columns((*os.File)(nil)))
}
