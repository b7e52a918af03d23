package fidelity

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// The comparisons, with a second plain directory in the place of the mount:
// they must find nothing, or they would blame the mount for their own noise.

func TestNativeNewFilesAreTheSameInTwoDirectories(t *testing.T) {
	p, _ := harness.TwoPlain(t, prepareMakers)
	newFiles(&p, t)
}

func TestNativePrivilegesAreTheSameInTwoDirectories(t *testing.T) {
	p, _ := harness.TwoPlain(t, prepareSetid)
	privileges(&p, t)
	// And they compare something: natively the bits do go, and do stay.
	for dir, mode := range map[string]uint32{"user/root-6777/write": 0o777, "user/root-6777/open-only": 0o6777,
		"user/users-6777/chgrp": 0o777, "user/others-4777/truncate": 0o777, "root/root-6777/write": 0o6777} {
		e, err := harness.ReadEntry(filepath.Join(p.Plain, dir, "f"))
		require.NoError(t, err)
		require.Equal(t, mode, e.Mode&0o7777, dir)
	}
}

func TestNativePermissionsAreTheSameInTwoDirectories(t *testing.T) {
	p, _ := harness.TwoPlain(t, prepareOthers)
	a := harness.StartActorAs(t, "user", harness.User)
	same(&p, t, a, "sticky", trespass)
	require.Equal(t, "EACCES", a.Do(harness.Command{Op: "readfile", Path: filepath.Join(p.Front, "closed", "secret")}).Errno)
}
