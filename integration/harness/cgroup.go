package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Cgroup is the directory of a group in the unified hierarchy.
type Cgroup string

// unifiedCgroup is where cgroup v2 is mounted; it is mounted privately if it
// is nowhere.
func unifiedCgroup(t *testing.T) string {
	t.Helper()
	infos, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup2"))
	require.NoError(t, err)
	for _, i := range infos {
		if i.Root == "/" {
			return i.Mountpoint
		}
	}
	dir := NewBase(t)
	require.NoError(t, unix.Mount("none", dir, "cgroup2", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, 0)) })
	return dir
}

// NewCgroup makes a group of a name of its own: all namespaces have one hierarchy, and the pids of stories that run side by side are alike.
func NewCgroup(t *testing.T) Cgroup {
	t.Helper()
	dir, err := os.MkdirTemp(unifiedCgroup(t), "jvsfs-it-")
	require.NoError(t, err)
	return removed(t, dir)
}

// NewCgroupAt makes a group; at the end of the test what is in it goes to the
// root group, and it is removed.
func NewCgroupAt(t *testing.T, dir string) Cgroup {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o755))
	return removed(t, dir)
}

func removed(t *testing.T, dir string) Cgroup {
	t.Helper()
	t.Cleanup(func() {
		EventuallyNoted(t, "the group is empty and removed", func() (bool, string) {
			err := os.Remove(dir)
			return err == nil, fmt.Sprint(err)
		})
	})
	return Cgroup(dir)
}

// Below makes a group within the group.
func (g Cgroup) Below(t *testing.T, name string) Cgroup {
	return NewCgroupAt(t, filepath.Join(string(g), name))
}

// Take moves an actor into the group, and ends it before the group is removed.
func (g Cgroup) Take(a *Actor) {
	a.T.Helper()
	require.NoError(a.T, os.WriteFile(filepath.Join(string(g), "cgroup.procs"), []byte(strconv.Itoa(a.PID())), 0o644))
	a.T.Cleanup(a.End)
}
