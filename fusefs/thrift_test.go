package fusefs

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What a file system keeps for the superuser is not for users. The capability is in effect for
// root's own requests only, and afterwards it is back.
func TestTheReserveIsNotInEffectForUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	stand := standInReserve(t)
	effective := func() uint32 {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		require.NoError(t, unix.Capget(&hdr, &data[0]))
		return data[0].Effective
	}
	for name, c := range map[string]struct {
		as   caller
		want bool
	}{
		"a user":                          {caller{uid: 1000, gid: 1000}, false},
		"a user with a capability":        {caller{uid: 1000, caps: capFsetid}, false},
		"root":                            {caller{}, true},
		"root, who drops privileges":      {caller{kill: true}, true},
		"root in the place of a user":     {caller{thrifty: true}, false},
		"root in the place of a user too": {caller{thrifty: true, kill: true}, false},
	} {
		require.NoError(t, c.as.as(func() error {
			require.Equal(t, c.want, effective()&stand != 0, name)
			return nil
		}))
		require.NoError(t, c.as.as(func() error { return nil }))
	}
	require.NoError(t, caller{}.as(func() error {
		require.NotZero(t, effective()&stand)
		return nil
	}))
}

// standInReserve uses another capability instead of CAP_SYS_RESOURCE: there are machines on which
// not even root has that one.
func standInReserve(t *testing.T) uint32 {
	t.Helper()
	const stand = 1 << unix.CAP_SYS_PACCT
	was := reserveCaps
	reserveCaps = func() uint32 { return stand }
	t.Cleanup(func() { reserveCaps = was })
	own, err := effectiveOf(uint32(unix.Gettid()))
	require.NoError(t, err)
	if own&stand == 0 {
		t.Skip("needs CAP_SYS_PACCT")
	}
	return stand
}
