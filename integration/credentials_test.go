package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The users of the credential tests. 2000 is a group that the user is in, but
// not with: it travels in no FUSE header. 3000 is a group of strangers.
var (
	user  = identity{uid: 1000, gid: 1000, groups: []uint32{1000, 2000}}
	other = identity{uid: 1001, gid: 1001, groups: []uint32{1001}}
)

// pair is a mount (front, and the backing tree behind it) and a plain
// directory of the same content; what a user does is done in both and
// compared.
type pair struct{ front, behind, plain string }

func newPair(t *testing.T, prepare func(testing.TB, string)) *pair {
	t.Helper()
	m := newMount(t, mountOptions{onFree: "allow", prepare: prepare})
	plain := filepath.Join(m.base, "plain")
	require.NoError(t, os.Mkdir(plain, 0o755))
	prepare(t, plain)
	return &pair{front: m.Mountpoint, behind: m.View, plain: plain}
}

// same performs make's commands in both trees and demands the same answers
// and, except for times, the same trees below dir.
func (p *pair) same(t *testing.T, a *actor, dir string, make func(root string) []command) {
	t.Helper()
	// One tree after the other: the actor keeps handles by name.
	commands := make(filepath.Join(p.front, dir))
	wants, gots := answers(t, a, make(filepath.Join(p.plain, dir))), answers(t, a, commands)
	for i, c := range commands {
		assert.Equal(t, wants[i], gots[i], "%s %s%s", c.Op, c.Path, c.Handle)
	}
	native, behind := takeDigest(t, filepath.Join(p.plain, dir)), takeDigest(t, filepath.Join(p.behind, dir))
	assert.Empty(t, native.diff(behind, leaveTimes, leaveDirSizes), "plain directory, backing directory")
	seen := takeDigest(t, filepath.Join(p.front, dir))
	assert.Empty(t, behind.diff(seen, leaveTimes, leaveDirSizes), "backing directory, mount")
}

// answers performs commands and lists what they said.
func answers(t *testing.T, a *actor, commands []command) []string {
	t.Helper()
	var errnos []string
	for _, c := range commands {
		r, err := a.try(c)
		require.NoError(t, err)
		errnos = append(errnos, r.Errno)
	}
	return errnos
}

// makerDirs are the kinds of directories in which things are made.
func makerDirs() map[string]func(testing.TB, string) {
	owned := func(uid, gid int, mode uint32) func(testing.TB, string) {
		return func(t testing.TB, dir string) {
			must(t, os.Chown(dir, uid, gid))
			must(t, unix.Chmod(dir, mode))
		}
	}
	acl := func(name string, value []byte) func(testing.TB, string) {
		return func(t testing.TB, dir string) { must(t, unix.Setxattr(dir, name, value, 0)) }
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
		"default-acl":                 prepareAll(owned(1000, 1000, 0o755), acl(aclDefault, userACL(4242))),
		"default-acl-setgid":          prepareAll(owned(1000, 2000, 0o2775), acl(aclDefault, userACL(4242))),
		"default-acl-supplementary":   prepareAll(owned(0, 2000, 0o770), acl(aclDefault, userACL(4242))),
		"default-acl-narrow":          prepareAll(owned(1000, 1000, 0o755), acl(aclDefault, narrowACL())),
		"access-by-acl":               prepareAll(owned(0, 0, 0o700), acl(aclAccess, aclFor(1000))),
		"access-by-acl-supplementary": prepareAll(owned(0, 0, 0o700), acl(aclAccess, groupACL(2000))),
	}
}

func aclFor(uid uint32) []byte {
	return encodeACL(aclEntry{aclUserObj, 7, aclNobody}, aclEntry{aclUser, 7, uid},
		aclEntry{aclGroupObj, 0, aclNobody}, aclEntry{aclMask, 7, aclNobody}, aclEntry{aclOther, 0, aclNobody})
}

func groupACL(gid uint32) []byte {
	return encodeACL(aclEntry{aclUserObj, 7, aclNobody}, aclEntry{aclGroupObj, 0, aclNobody},
		aclEntry{aclGroup, 7, gid}, aclEntry{aclMask, 7, aclNobody}, aclEntry{aclOther, 0, aclNobody})
}

// narrowACL has no named entries: new files get a mode from it and no ACL.
func narrowACL() []byte {
	return encodeACL(aclEntry{aclUserObj, 7, aclNobody}, aclEntry{aclGroupObj, 4, aclNobody}, aclEntry{aclOther, 1, aclNobody})
}

// umasks are none, the usual one, the actors' own and the strictest.
var umasks = []uint32{0, 0o022, 0o027, 0o077}

func umaskDir(kind string, umask uint32) string { return fmt.Sprintf("%s-%03o", kind, umask) }

func prepareMakers(t testing.TB, tree string) {
	for kind, prepare := range makerDirs() {
		for _, umask := range umasks {
			dir := filepath.Join(tree, umaskDir(kind, umask))
			must(t, os.Mkdir(dir, 0o755))
			prepare(t, dir)
		}
	}
}

// TestCredentialsOfNewFiles makes everything that can be made as a user, in
// every kind of directory, with every umask.
func TestCredentialsOfNewFiles(t *testing.T) {
	p := newPair(t, prepareMakers)
	p.newFiles(t)
}

func (p *pair) newFiles(t *testing.T) {
	a := startActorAs(t, "user", user)
	for kind := range makerDirs() {
		for _, umask := range umasks {
			dir := umaskDir(kind, umask)
			t.Run(dir, func(t *testing.T) {
				_, err := a.try(command{Op: "umask", Mode: umask})
				require.NoError(t, err)
				p.same(t, a, dir, makeEverything)
			})
		}
	}
}

func makeEverything(root string) []command {
	at := func(name string) string { return filepath.Join(root, name) }
	return []command{
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
