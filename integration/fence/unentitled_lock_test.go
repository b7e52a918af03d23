package fence

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A user may acquire a lease if it may write to the worktree's root and can reach it. The backing file system
// decides that.
func TestAUserWhoMayNotWriteMayNotAcquire(t *testing.T) {
	owned := func(uid, gid int, mode uint32) func(testing.TB, string) {
		return func(t testing.TB, dir string) {
			harness.Must(t, os.Chown(dir, uid, gid))
			harness.Must(t, unix.Chmod(dir, mode))
		}
	}
	acl := func(value []byte) func(testing.TB, string) {
		return func(t testing.TB, dir string) { harness.Must(t, unix.Setxattr(dir, harness.ACLAccess, value, 0)) }
	}
	plain := func(id harness.Identity) func(*testing.T) *harness.Actor {
		return func(t *testing.T) *harness.Actor { return harness.StartActorAs(t, "user", id) }
	}
	for name, c := range map[string]struct {
		root func(testing.TB, string)
		who  func(*testing.T) *harness.Actor
		may  bool
	}{
		"another user":           {owned(0, 0, 0o755), plain(harness.Other), false},
		"its owner":              {owned(1001, 0, 0o755), plain(harness.Other), true},
		"its owner, read-only":   {owned(1001, 0, 0o555), plain(harness.Other), false},
		"everybody":              {owned(0, 0, 0o777), plain(harness.Other), true},
		"a supplementary group":  {owned(0, 2000, 0o770), plain(harness.User), true},
		"an ACL names another":   {acl(harness.ACLFor(4242)), plain(harness.Other), false},
		"an ACL names it":        {acl(harness.ACLFor(1001)), plain(harness.Other), true},
		"an ACL names its group": {acl(harness.GroupACL(2000)), plain(harness.User), true},
		"an ACL masks it": {acl(harness.EncodeACL(harness.ACLEntry{Tag: harness.ACLUserObj, Perm: 7, ID: harness.ACLNobody}, harness.ACLEntry{Tag: harness.ACLUser, Perm: 7, ID: 1001},
			harness.ACLEntry{Tag: harness.ACLGroupObj, Perm: 0, ID: harness.ACLNobody}, harness.ACLEntry{Tag: harness.ACLMask, Perm: 5, ID: harness.ACLNobody}, harness.ACLEntry{Tag: harness.ACLOther, Perm: 0, ID: harness.ACLNobody})), plain(harness.Other), false},
		"root of a user namespace": {owned(0, 0, 0o755), func(t *testing.T) *harness.Actor { return startActorIn(t, "namespaced", 1001) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: c.root})
			a := c.who(t)
			records := recordFiles(m)
			exit, said := a.Run("/", "", m.Bin+" lock acquire --pid "+harness.PIDOf(a)+" "+m.Mountpoint)
			if c.may {
				require.Zero(t, exit, said)
				a.OK(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o700})
				return
			}
			require.NotZero(t, exit, said)
			require.Contains(t, said, "may not write to the worktree")
			require.Equal(t, records, recordFiles(m))
		})
	}
}

// Below a directory that somebody may not enter it keeps nobody from writing, whatever
// the modes below say, but for a process that has been let in.
func TestAUserWhoCannotReachTheWorktreeMayNotAcquire(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot})
	private := filepath.Join(m.Base, "private")
	m.Mountpoint = filepath.Join(private, "mnt")
	require.NoError(t, os.MkdirAll(m.Mountpoint, 0o755))
	m.Mount()
	a := harness.StartActorAs(t, "stranger", harness.Other)
	acquire := m.Bin + " lock acquire --pid " + harness.PIDOf(a) + " " + m.Mountpoint
	require.NoError(t, os.Chmod(private, 0o700))
	records := recordFiles(m)
	exit, said := a.Run("/", "", acquire)
	require.NotZero(t, exit, said)
	require.Equal(t, records, recordFiles(m))
	require.Contains(t, said, "may not write to the worktree")

	require.NoError(t, os.Chmod(private, 0o755))
	exit, said = a.Run("/", "", acquire)
	require.Zero(t, exit, said)
}
