package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A lease is taken on purpose by who may write to the worktree's root and can get there,
// as the file system below judges.
func TestLockOfTheUnentitled(t *testing.T) {
	owned := func(uid, gid int, mode uint32) func(testing.TB, string) {
		return func(t testing.TB, dir string) {
			must(t, os.Chown(dir, uid, gid))
			must(t, unix.Chmod(dir, mode))
		}
	}
	acl := func(value []byte) func(testing.TB, string) {
		return func(t testing.TB, dir string) { must(t, unix.Setxattr(dir, aclAccess, value, 0)) }
	}
	plain := func(id identity) func(*testing.T) *actor {
		return func(t *testing.T) *actor { return startActorAs(t, "user", id) }
	}
	for name, c := range map[string]struct {
		root func(testing.TB, string)
		who  func(*testing.T) *actor
		may  bool
	}{
		"another user":           {owned(0, 0, 0o755), plain(other), false},
		"its owner":              {owned(1001, 0, 0o755), plain(other), true},
		"its owner, read-only":   {owned(1001, 0, 0o555), plain(other), false},
		"everybody":              {owned(0, 0, 0o777), plain(other), true},
		"a supplementary group":  {owned(0, 2000, 0o770), plain(user), true},
		"an ACL names another":   {acl(aclFor(4242)), plain(other), false},
		"an ACL names it":        {acl(aclFor(1001)), plain(other), true},
		"an ACL names its group": {acl(groupACL(2000)), plain(user), true},
		"an ACL masks it": {acl(encodeACL(aclEntry{aclUserObj, 7, aclNobody}, aclEntry{aclUser, 7, 1001},
			aclEntry{aclGroupObj, 0, aclNobody}, aclEntry{aclMask, 5, aclNobody}, aclEntry{aclOther, 0, aclNobody})), plain(other), false},
		"root of a user namespace": {owned(0, 0, 0o755), func(t *testing.T) *actor { return startActorIn(t, "namespaced", 1001) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMount(t, mountOptions{onFree: "deny", prepare: c.root})
			a := c.who(t)
			records := m.records()
			exit, said := a.run("/", "", m.bin+" lock acquire --pid "+pidOf(a)+" "+m.Mountpoint)
			if c.may {
				require.Zero(t, exit, said)
				a.ok(command{Op: "mkdir", Path: m.At("d"), Mode: 0o700})
				return
			}
			require.NotZero(t, exit, said)
			require.Contains(t, said, "may not write to the worktree")
			require.Equal(t, records, m.records())
		})
	}
}

// Below a directory that somebody may not enter it keeps nobody from writing, whatever
// the modes below say, but for a process that has been let in.
func TestLockOfWhoCannotGetThere(t *testing.T) {
	m := prepareMount(t, mountOptions{onFree: "deny", prepare: withOpenRoot})
	private := filepath.Join(m.base, "private")
	m.Mountpoint = filepath.Join(private, "mnt")
	require.NoError(t, os.MkdirAll(m.Mountpoint, 0o755))
	m.mount()
	a := startActorAs(t, "stranger", other)
	acquire := m.bin + " lock acquire --pid " + pidOf(a) + " " + m.Mountpoint
	require.NoError(t, os.Chmod(private, 0o700))
	records := m.records()
	exit, said := a.run("/", "", acquire)
	require.NotZero(t, exit, said)
	require.Equal(t, records, m.records())
	require.Contains(t, said, "may not write to the worktree")

	require.NoError(t, os.Chmod(private, 0o755))
	exit, said = a.run("/", "", acquire)
	require.Zero(t, exit, said)
}
