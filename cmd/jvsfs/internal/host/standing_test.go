package host

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

func TestOnlySharedWritableMappingsReachAFile(t *testing.T) {
	var maps strings.Builder
	for i, perms := range []string{"rw-s", "rw-p", "r--s", "-w-s", "rwxs"} {
		fmt.Fprintf(&maps, "%x000-%x001 %s 00000000 fe:10 77 /srv/repo/%d\n", i+1, i+1, perms, i)
	}
	got := ParseMaps(strings.NewReader(sharedWritable(maps.String())), func(api.Device, string) bool { return true })
	require.Equal(t, []string{"/srv/repo/0", "/srv/repo/3", "/srv/repo/4"}, got)
}

func TestWritingDescriptorsAreTold(t *testing.T) {
	name := t.TempDir() + "/f"
	for flags, want := range map[int]bool{os.O_WRONLY | os.O_CREATE: true, os.O_RDWR: true, os.O_RDONLY: false} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
		f, err := os.OpenFile(name, flags, 0o600)
		require.NoError(t, err)
		require.Equal(t, want, OpenForWriting(api.BusyEntry{PID: os.Getpid(), Use: fmt.Sprintf("fd %d", f.Fd())}))
		require.NoError(t, f.Close())
	}
	require.False(t, OpenForWriting(api.BusyEntry{PID: os.Getpid(), Use: "cwd"}))
}
