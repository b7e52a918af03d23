package fidelity

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func newPair(t *testing.T, prepare func(testing.TB, string)) *harness.Pair {
	t.Helper()
	m := harness.NewMount(t, harness.MountOptions{OnFree: "allow", Prepare: prepare})
	plain := filepath.Join(m.Base, "plain")
	require.NoError(t, os.Mkdir(plain, 0o755))
	prepare(t, plain)
	return &harness.Pair{Front: m.Mountpoint, Behind: m.View, Plain: plain}
}

// same performs make's commands in both trees and demands the same answers
// and, except for times, the same trees below dir.
func same(p *harness.Pair, t *testing.T, a *harness.Actor, dir string, make func(root string) []harness.Command) {
	t.Helper()
	// One tree after the other: the actor keeps handles by name.
	commands := make(filepath.Join(p.Front, dir))
	wants, gots := harness.Answers(t, a, make(filepath.Join(p.Plain, dir))), harness.Answers(t, a, commands)
	for i, c := range commands {
		assert.Equal(t, wants[i], gots[i], "%s %s%s", c.Op, c.Path, c.Handle)
	}
	native, behind := harness.TakeDigest(t, filepath.Join(p.Plain, dir)), harness.TakeDigest(t, filepath.Join(p.Behind, dir))
	assert.Empty(t, native.Diff(behind, harness.LeaveTimes, harness.LeaveDirSizes), "plain directory, backing directory")
	seen := harness.TakeDigest(t, filepath.Join(p.Front, dir))
	assert.Empty(t, behind.Diff(seen, harness.LeaveTimes, harness.LeaveDirSizes), "backing directory, mount")
}

// makerDirs are the kinds of directories in which things are made.
func makerDirs() map[string]func(testing.TB, string) {
	owned := func(uid, gid int, mode uint32) func(testing.TB, string) {
		return func(t testing.TB, dir string) {
			harness.Must(t, os.Chown(dir, uid, gid))
			harness.Must(t, unix.Chmod(dir, mode))
		}
	}
	acl := func(name string, value []byte) func(testing.TB, string) {
		return func(t testing.TB, dir string) { harness.Must(t, unix.Setxattr(dir, name, value, 0)) }
	}
	return map[string]func(testing.TB, string){
		"own":                         owned(1000, 1000, 0o755),
		"setgid":                      owned(1000, 2000, 0o2775),
		"setgid-strangers":            owned(0, 3000, 0o2777),
		"supplementary":               owned(0, 2000, 0o770),
		"supplementary-setgid":        owned(0, 2000, 0o2770),
		"supplementary-sticky":        owned(0, 2000, 0o1770),
		"everybody-sticky":            owned(0, 0, 0o1777),
		"forbidden":                   owned(0, 0, 0o755),
		"default-acl":                 harness.PrepareAll(owned(1000, 1000, 0o755), acl(harness.ACLDefault, harness.UserACL(4242))),
		"default-acl-setgid":          harness.PrepareAll(owned(1000, 2000, 0o2775), acl(harness.ACLDefault, harness.UserACL(4242))),
		"default-acl-supplementary":   harness.PrepareAll(owned(0, 2000, 0o770), acl(harness.ACLDefault, harness.UserACL(4242))),
		"default-acl-narrow":          harness.PrepareAll(owned(1000, 1000, 0o755), acl(harness.ACLDefault, narrowACL())),
		"access-by-acl":               harness.PrepareAll(owned(0, 0, 0o700), acl(harness.ACLAccess, harness.ACLFor(1000))),
		"access-by-acl-supplementary": harness.PrepareAll(owned(0, 0, 0o700), acl(harness.ACLAccess, harness.GroupACL(2000))),
	}
}

// narrowACL has no named entries: new files get a mode from it and no ACL.
func narrowACL() []byte {
	return harness.EncodeACL(harness.ACLEntry{Tag: harness.ACLUserObj, Perm: 7, ID: harness.ACLNobody}, harness.ACLEntry{Tag: harness.ACLGroupObj, Perm: 4, ID: harness.ACLNobody}, harness.ACLEntry{Tag: harness.ACLOther, Perm: 1, ID: harness.ACLNobody})
}

// umasks are none, the usual one, the actors' own and the strictest.
var umasks = []uint32{0, 0o022, 0o027, 0o077}

func umaskDir(kind string, umask uint32) string { return fmt.Sprintf("%s-%03o", kind, umask) }

func prepareMakers(t testing.TB, tree string) {
	for kind, prepare := range makerDirs() {
		for _, umask := range umasks {
			dir := filepath.Join(tree, umaskDir(kind, umask))
			harness.Must(t, os.Mkdir(dir, 0o755))
			prepare(t, dir)
		}
	}
}

// TestNewFilesHaveTheCredentialsThatTheyHaveNatively makes everything that can be made as a user, in
// every kind of directory, with every umask.
func TestNewFilesHaveTheCredentialsThatTheyHaveNatively(t *testing.T) {
	p := newPair(t, prepareMakers)
	newFiles(p, t)
}

func newFiles(p *harness.Pair, t *testing.T) {
	a := harness.StartActorAs(t, "user", harness.User)
	for kind := range makerDirs() {
		for _, umask := range umasks {
			dir := umaskDir(kind, umask)
			t.Run(dir, func(t *testing.T) {
				_, err := a.Try(harness.Command{Op: "umask", Mode: umask})
				require.NoError(t, err)
				same(p, t, a, dir, makeEverything)
			})
		}
	}
}

func makeEverything(root string) []harness.Command {
	at := func(name string) string { return filepath.Join(root, name) }
	return []harness.Command{
		{Op: "writefile", Path: at("file"), Flags: unix.O_CREAT, Mode: 0o666, Data: []byte("x")},
		{Op: "writefile", Path: at("program"), Flags: unix.O_CREAT | unix.O_EXCL, Mode: 0o777, Data: []byte("x")},
		{Op: "writefile", Path: at("setid"), Flags: unix.O_CREAT, Mode: 0o6777},
		{Op: "open", Handle: "ro", Path: at("readonly"), Flags: unix.O_CREAT | unix.O_RDONLY, Mode: 0o400},
		{Op: "close", Handle: "ro"},
		{Op: "mkdir", Path: at("dir"), Mode: 0o777},
		{Op: "mkdir", Path: at("dir-setgid"), Mode: 0o3777},
		{Op: "mkdir", Path: at("dir/nested"), Mode: 0o755},
		{Op: "writefile", Path: at("dir/nested/file"), Flags: unix.O_CREAT, Mode: 0o666, Data: []byte("x")},
		{Op: "mknod", Path: at("fifo"), Mode: unix.S_IFIFO | 0o666},
		{Op: "mknod", Path: at("regular"), Mode: unix.S_IFREG | 0o6777},
		{Op: "mknod", Path: at("socket"), Mode: unix.S_IFSOCK | 0o666},
		{Op: "mknod", Path: at("device"), Mode: unix.S_IFCHR | 0o666, Len: int64(unix.Mkdev(1, 3))},
		{Op: "symlink", Path: at("symlink"), To: "file"},
		{Op: "tmpfile", Path: root, To: at("tmpfile"), Mode: 0o666},
		{Op: "tmpfile", Path: root, To: at("tmpfile-setid"), Mode: 0o6777},
		{Op: "link", Path: at("file"), To: at("link")},
		{Op: "chmod", Path: at("file"), Mode: 0o2640},
		{Op: "rename", Path: at("fifo"), To: at("renamed")},
	}
}
