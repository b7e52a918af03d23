package fusefs

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// identity is what belongs to one thread and decides as whom it acts.
type identity struct {
	ruid, euid, suid, fsuid int
	rgid, egid, sgid, fsgid int
	effective               uint64
	umask                   int
}

// identityHere must be called on a locked thread.
func identityHere(t *testing.T) (id identity) {
	t.Helper()
	id.ruid, id.euid, id.suid = unix.Getresuid()
	id.rgid, id.egid, id.sgid = unix.Getresgid()
	id.fsuid, _ = unix.SetfsuidRetUid(-1)
	id.fsgid, _ = unix.SetfsgidRetGid(-1)
	var err error
	id.effective, err = effectiveOf(uint32(unix.Gettid()))
	require.NoError(t, err)
	id.umask = unix.Umask(0)
	unix.Umask(id.umask)
	return id
}

// aDaemonsThread gives the test a thread with the daemon's umask, which ends with it.
func aDaemonsThread(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	require.NoError(t, unix.Unshare(unix.CLONE_FS))
	unix.Umask(0)
}

// A thread that has acted as somebody is the daemon's again, whatever the call has done.
func TestAThreadThatActedAsAUserIsTheDaemonsAgain(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	aDaemonsThread(t)
	own := identityHere(t)
	failed := errors.New("the call failed")
	for name, as := range map[string]caller{
		"root":                  {},
		"root's group":          {uid: 1000},
		"a group's root":        {gid: 1000},
		"a user":                {uid: 1000, gid: 2000},
		"a umask":               {uid: 1000, gid: 2000, umask: 0o22, mode: 0o666},
		"a setgid bit":          {uid: 1000, gid: 2000, keepSetgid: true},
		"with a capability":     {uid: 1000, gid: 2000, caps: capFowner},
		"strict":                {uid: 1000, gid: 2000, strict: true},
		"privileges are lost":   {kill: true},
		"in the place of users": {thrifty: true},
		"lacking a capability":  {lack: capFowner},
		"the last id":           {uid: unchanged - 1, gid: unchanged - 1},
	} {
		for end, want := range map[string]error{"done": nil, "refused": unix.EACCES, "failed": failed} {
			require.ErrorIs(t, as.as(func() error {
				require.Equal(t, int(int32(as.uid)), int(int32(identityHere(t).fsuid)), name)
				require.Equal(t, int(int32(as.gid)), int(int32(identityHere(t).fsgid)), name)
				return want
			}), want)
			require.Equal(t, own, identityHere(t), "%s, %s", name, end)
		}
		require.Panics(t, func() { _ = as.as(func() error { panic(name) }) }) // go-fuse recovers, and goes on with the thread
		require.Equal(t, own, identityHere(t), "%s, panic", name)
	}
}

// An id that is nobody's is no leave to act as root: to the kernel it means "as before".
func TestAnIDOfNobodyIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	for _, as := range []caller{{uid: unchanged}, {gid: unchanged}, {uid: 1000, gid: unchanged}, {uid: unchanged, gid: 1000}} {
		require.ErrorIs(t, as.as(func() error { t.Error("called"); return nil }), unix.EPERM)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.Zero(t, identityHere(t).fsgid)
}

// While a thread acts as a user, its real and saved ids stay the daemon's: the user may not send it a signal. And it has no more power
// than is needed.
func TestAUserCannotSignalAThreadThatActsAsIt(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	require.NoError(t, caller{uid: 1000, gid: 2000}.as(func() error {
		id := identityHere(t)
		require.Equal(t, identity{euid: 1000, fsuid: 1000, egid: 2000, fsgid: 2000, umask: id.umask}, id)
		return nil
	}))
	require.NoError(t, caller{uid: 1000, gid: 2000, caps: capFowner}.as(func() error {
		require.Equal(t, uint64(capFowner), identityHere(t).effective)
		return nil
	}))
}

// A umask is in force where it matters, and costs nothing where it does not.
func TestTheUmaskIsSetOnlyForCallsThatUseIt(t *testing.T) {
	aDaemonsThread(t)
	dir := t.TempDir()
	for _, c := range []struct {
		mode, umask uint32
		masks       bool
		want        os.FileMode
	}{
		{0o666, 0o022, true, 0o644}, {0o644, 0o022, false, 0o644}, {0o644, 0o077, true, 0o600}, {0o600, 0o177, false, 0o600},
		{0o777, 0, false, 0o777}, {0o666, 0o027, true, 0o640},
	} {
		as := caller{umask: c.umask, mode: c.mode | unix.S_IFREG}
		require.Equal(t, c.masks, as.masks(), "%o %o", c.mode, c.umask)
		name := filepath.Join(dir, "f")
		require.NoError(t, as.as(func() error { return unix.Mknod(name, c.mode|unix.S_IFREG, 0) }))
		st, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, c.want, st.Mode().Perm(), "%o %o", c.mode, c.umask)
		require.NoError(t, os.Remove(name))
	}
}
