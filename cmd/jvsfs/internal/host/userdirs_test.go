package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
)

func TestWhoHasMounted(t *testing.T) {
	for options, want := range map[string]uint32{
		"rw,user_id=0,group_id=0,default_permissions,allow_other": 0,
		"rw,user_id=1000,group_id=1000,default_permissions":       1000,
		"rw": 0, "rw,group_id=7": 0, "rw,user_id=4294967294,max_read=1": 4294967294, "rw,user_id=x": 0,
	} {
		require.Equal(t, want, MountedBy(&mountinfo.Info{VFSOptions: options}), options)
	}
}

// Relative paths of the environment count as unset (XDG Base Directory Specification).
func TestWhereAUsersStateIs(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	for state, want := range map[string]string{"/s": "/s/jvsfs", "s": "/home/u/.local/state/jvsfs", "": "/home/u/.local/state/jvsfs"} {
		t.Setenv("XDG_STATE_HOME", state)
		require.Equal(t, want, UserState())
	}
	t.Setenv("XDG_RUNTIME_DIR", "/r")
	require.Equal(t, "/r/jvsfs", userRunDirs()[0])
	t.Setenv("XDG_RUNTIME_DIR", "r")
	require.NotContains(t, userRunDirs(), "r/jvsfs")
}

// What others could have put there is not believed.
func TestADirectoryThatOthersCanWriteIsNotTrusted(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own")
	require.NoError(t, makeOwn(own, "X"))
	require.True(t, isOwn(own))
	link := filepath.Join(filepath.Dir(own), "link")
	require.NoError(t, os.Symlink(own, link))
	require.False(t, isOwn(link))
	require.ErrorContains(t, makeOwn(link, "X"), "it is a link")
	require.NoError(t, os.Chmod(own, 0o777))
	require.Error(t, makeOwn(own, "X"))
	file := filepath.Join(filepath.Dir(own), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, makeOwn(file, "X"))
}
