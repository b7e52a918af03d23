package storewatch

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
)

// A dead mount comes back over what it was over. What is mounted inside of its source is no part of that, and what is meant to be another
// place now is not compared.
func TestADeadMountComesBackOverItsStore(t *testing.T) {
	dir := t.TempDir()
	root, err := typeAt("/")
	require.NoError(t, err)
	of, err := typeAt(dir)
	require.NoError(t, err)
	for name, x := range map[string]struct {
		was  host.MountState
		is   place.Place
		says string
	}{
		"as it was":                         {host.MountState{Source: dir, Locks: "/proc", SourceFS: of, LocksFS: unix.PROC_SUPER_MAGIC}, place.Place{Root: dir, LockDir: "/proc"}, ""},
		"another kind":                      {host.MountState{Source: dir, Locks: "/proc", SourceFS: of, LocksFS: of}, place.Place{Root: dir, LockDir: "/proc"}, "/proc is not on the file system any more"},
		"a mount inside covers the records": {host.MountState{Source: "/", Locks: "/proc", SourceFS: root, LocksFS: root}, place.Place{Root: "/", LockDir: "/proc"}, ""},
		"another source":                    {host.MountState{Source: dir, Locks: dir, SourceFS: of, LocksFS: of}, place.Place{Root: "/proc", LockDir: "/proc/self"}, ""},
		"of a release that did not note it": {host.MountState{Source: dir, Locks: "/proc"}, place.Place{Root: dir, LockDir: "/proc"}, ""},
		"the records are lost":              {host.MountState{Source: dir, Locks: dir + "-away", SourceFS: of, LocksFS: of}, place.Place{Root: dir, LockDir: dir + "-away"}, "cannot be found: no such file"},
		"the source is lost":                {host.MountState{Source: filepath.Join(dir, "s"), Locks: dir, SourceFS: of, LocksFS: of}, place.Place{Root: filepath.Join(dir, "s"), LockDir: dir}, "cannot be found: no such file"},
	} {
		err := SameStore(&recovery.Recovery{Point: "/at", State: &x.was}, x.is)
		if x.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, x.says, name)
		require.Equal(t, api.ClassStoreFailed, api.AsFailure(err).Class, name)
	}
	require.NoError(t, SameStore(&recovery.Recovery{}, place.Place{Root: dir, LockDir: dir}), "nothing is known of it")
}
