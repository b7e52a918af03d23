package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// MountsBelow is every mount point at or below dir, with its type.
func MountsBelow(dir string) ([]string, error) {
	infos, err := mountinfo.GetMounts(func(i *mountinfo.Info) (bool, bool) {
		inside := i.Mountpoint == dir || strings.HasPrefix(i.Mountpoint, dir+"/")
		return !inside, false
	})
	var points []string
	for _, i := range infos {
		points = append(points, i.Mountpoint+" ("+i.FSType+")")
	}
	return points, err
}

// TopType is the type of the topmost mount exactly at dir, "" if there is none.
func TopType(t testing.TB, dir string) string {
	t.Helper()
	infos, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(dir))
	require.NoError(t, err)
	if len(infos) == 0 {
		return ""
	}
	return infos[len(infos)-1].FSType
}

// BindView makes a second way into dir. It is private, so that later mounts over dir do not show in it, and
// noatime, so that looking leaves no trace. Further flags (MS_RDONLY) are added. It is removed at the end of
// the test.
func BindView(t testing.TB, dir, at string, flags uintptr) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(at, 0o755))
	require.NoError(t, unix.Mount(dir, at, "", unix.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(at, unix.MNT_DETACH)) })
	require.NoError(t, unix.Mount("", at, "", unix.MS_PRIVATE, ""))
	require.NoError(t, unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_NOATIME|flags, ""))
	real, err := filepath.EvalSymlinks(at)
	require.NoError(t, err)
	return real
}
