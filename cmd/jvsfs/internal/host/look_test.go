package host

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

func TestIsLook(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	var st unix.Stat_t
	require.NoError(t, unix.Stat(dir, &st))
	dev := api.Device{Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev)}
	open := func(path string, flags int) int {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		return fd
	}
	for _, row := range []struct {
		name string
		now  func(fd int) // what became of the descriptor since it was found
		path string
		as   int
		want bool
	}{
		{"names only", func(int) {}, dir, unix.O_PATH, true},
		{"reads", func(int) {}, dir, unix.O_RDONLY, false},
		{"writes", func(int) {}, file, unix.O_WRONLY, false},
		{"closed", func(fd int) { require.NoError(t, unix.Close(fd)) }, dir, unix.O_PATH, true},
		{"its number is taken by a file elsewhere", func(fd int) { replace(t, fd, open("/proc/self/stat", unix.O_RDONLY)) }, dir, unix.O_PATH, true},
		{"its number is taken by a file there", func(fd int) { replace(t, fd, open(file, unix.O_RDWR)) }, dir, unix.O_PATH, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			fd := open(row.path, row.as)
			row.now(fd)
			require.Equal(t, row.want, IsLook(api.BusyEntry{PID: os.Getpid(), Use: fmt.Sprintf("fd %d", fd)}, dev))
			_ = unix.Close(fd) // one row has closed it
		})
	}
	require.False(t, IsLook(api.BusyEntry{PID: os.Getpid(), Use: "cwd"}, dev))
	require.False(t, IsLook(api.BusyEntry{Use: "mount"}, dev))
}

// replace makes fd a descriptor of what by is one of.
func replace(t *testing.T, fd, by int) {
	require.NoError(t, unix.Dup3(by, fd, unix.O_CLOEXEC))
	require.NoError(t, unix.Close(by))
}
