package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

func TestParseMaps(t *testing.T) {
	maps := `55d0c0a00000-55d0c0a02000 r--p 00000000 fe:00 131 /usr/bin/cat
7f1200000000-7f1200001000 rw-s 00000000 00:32 77 /srv/repo/main/a b.db
7f1200001000-7f1200002000 rw-s 00001000 00:32 77 /srv/repo/main/a b.db
7f1200002000-7f1200003000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0 [stack]
garbage
7f-7f rw-s 0 zz:32 1 /x
`
	want := api.Device{Major: 0, Minor: 0x32}
	got := ParseMaps(strings.NewReader(maps), func(d api.Device, _ string) bool { return d == want })
	require.Equal(t, []string{"/srv/repo/main/a b.db"}, got)
}

func TestParseHexDevice(t *testing.T) {
	d, err := parseHexDevice("fe:1f")
	require.NoError(t, err)
	require.Equal(t, api.Device{Major: 254, Minor: 31}, d)
	for _, s := range []string{"", "fe", "g:0", "0:g"} {
		_, err := parseHexDevice(s)
		require.Error(t, err, s)
	}
}

func TestBusyScanFindsOurOwnDescriptor(t *testing.T) {
	name := filepath.Join(t.TempDir(), "open")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer CloseFile(f)
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &st))
	dev := api.Device{Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev)}
	scan := BusyScan{Proc: "/proc", Limit: 100, Want: func(o Opened, path string) bool { return o.Dev == dev && path == name }}
	got := scan.Process(os.Getpid())
	require.Len(t, got, 1)
	require.Equal(t, os.Getpid(), got[0].PID)
	require.True(t, strings.HasPrefix(got[0].Use, "fd "))
	require.Equal(t, name, got[0].Path)
}
