package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Nobody who may not write takes a lease: every mutating call by users without the
// permission says what it says natively, and makes no record.

// linux/fs.h
const (
	fsImmutableFlag = 0x10
	fsAppendFlag    = 0x20
)

// netRaw is CAP_NET_RAW, permitted and effective (struct vfs_cap_data, linux/capability.h).
// chown takes it away natively, whoever asks; a stranger's must not through the mount.
var netRaw = []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// ownerOfRows owns the trees; what others may is what groups, ACLs and capabilities say.
const ownerOfRows = 1000

func init() {
	actorOps["lchown"] = func(_ *stage, c command) error { return unix.Lchown(c.Path, c.UID, c.GID) }
	actorOps["fchown"] = func(s *stage, c command) error {
		return s.with(c.Path, unix.O_RDONLY, 0, func(fd int) error { return unix.Fchown(fd, c.UID, c.GID) })
	}
	actorOps["touch"] = func(_ *stage, c command) error { return touch(c.Path) }
}

// prepareTheirs is a tree of somebody's rows, and what only matters to those who may not
// write.
func prepareTheirs(t testing.TB, tree string) {
	t.Helper()
	prepareRows(t, tree)
	withFiles("plain", "setuid", "capable", "fixed", "growing")(t, tree)
	withDir("dir")(t, tree)
	withDir("sticky")(t, tree)
	withDir("fixed-dir")(t, tree)
	must(t, os.Symlink("plain", filepath.Join(tree, "symlink")))
	must(t, unix.Mkfifo(filepath.Join(tree, "fifo"), 0o600))
	withFiles("sticky/theirs")(t, tree)
	must(t, filepath.Walk(tree, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if err := os.Lchown(path, ownerOfRows, ownerOfRows); err != nil || info.Mode()&os.ModeSymlink != 0 {
			return err
		}
		if info.Mode().IsRegular() || info.IsDir() { // 1003 is named, and the mask takes it back
			return addMaskedUser(path, info)
		}
		return nil
	}))
	must(t, unix.Chmod(filepath.Join(tree, "setuid"), 0o6755))
	must(t, unix.Chmod(filepath.Join(tree, "sticky"), 0o1777))
	must(t, unix.Setxattr(filepath.Join(tree, "capable"), "security.capability", netRaw, 0))
	for name, flag := range map[string]int{"fixed": fsImmutableFlag, "growing": fsAppendFlag, "fixed-dir": fsImmutableFlag} {
		path := filepath.Join(tree, name)
		must(t, unix.Removexattr(path, aclAccess))
		must(t, unix.Chmod(path, 0o777)) // and still nobody may
		must(t, setInodeFlag(path, flag))
		t.Cleanup(func() { must(t, setInodeFlag(path, 0)) })
	}
}

// setInodeFlag makes flag the only one of the two that may be set.
func setInodeFlag(path string, flag int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	was, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(was)&^(fsImmutableFlag|fsAppendFlag)|flag)
}

func addMaskedUser(path string, info os.FileInfo) error {
	if _, err := unix.Getxattr(path, aclAccess, nil); err == nil {
		return nil // a row about ACLs
	}
	perm := uint16(info.Mode().Perm())
	return unix.Setxattr(path, aclAccess, encodeACL(
		aclEntry{aclUserObj, perm >> 6, aclNobody}, aclEntry{aclUser, 7, 1003},
		aclEntry{aclGroupObj, perm >> 3 & 7, aclNobody}, aclEntry{aclMask, 5, aclNobody}, aclEntry{aclOther, perm & 5, aclNobody}), 0)
}

// unentitled are those who may not write, by what they are.
func unentitled(t *testing.T) map[string]*actor {
	return map[string]*actor{
		"another user":                startActorAs(t, "another", identity{uid: 1001, gid: 1001}),
		"the group, which may read":   startActorAs(t, "group", identity{uid: 1002, gid: 1002, groups: []uint32{ownerOfRows}}),
		"named in an ACL, but masked": startActorAs(t, "masked", identity{uid: 1003, gid: 1003}),
		"root without capabilities":   startActorBy(t, "powerless", "setpriv", "--bounding-set=-all", "--inh-caps=-all"),
		"root of a user namespace":    startActorIn(t, "namespaced", 1001),
	}
}

// startActorBy starts an actor through a command that changes what it may.
func startActorBy(t *testing.T, name string, argv ...string) *actor {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer self.Close()
	cmd := exec.Command(argv[0], append(argv[1:], "--", "/proc/self/fd/3")...)
	cmd.ExtraFiles = []*os.File{self}
	return serveActor(t, name, cmd)
}

// startActorIn starts an actor that is root in a user namespace of its own, and uid out of it.
func startActorIn(t *testing.T, name string, uid int) *actor {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids,
		Credential: &syscall.Credential{NoSetGroups: true}}
	return serveActor(t, name, cmd)
}

func (m *mount) records() []string {
	m.t.Helper()
	names, err := filepath.Glob(filepath.Join(m.LockDir, "*"))
	require.NoError(m.t, err)
	return names
}

func TestTheUnentitledTakeNoLease(t *testing.T) {
	m := newMount(t, mountOptions{prepare: prepareTheirs})
	plain := filepath.Join(m.base, "plain")
	require.NoError(t, os.Mkdir(plain, 0o755))
	prepareTheirs(t, plain)
	records, before := m.records(), m.digest()
	for who, a := range unentitled(t) {
		t.Run(who, func(t *testing.T) {
			for _, r := range allRows() {
				asNative(t, a, m, plain, r.name, func(root string) []command {
					return []command{{Op: "row.open", Path: root, Name: r.name}, {Op: "row.run", Path: root, Name: r.name},
						{Op: "row.drop", Path: root, Name: r.name}}
				})
				require.Equal(t, records, m.records(), "a lease was taken by: %s", r.name)
			}
			for _, c := range othersCommands() {
				asNative(t, a, m, plain, c.Op+" "+c.Path, func(root string) []command {
					c := c
					c.Path = filepath.Join(root, c.Path)
					if c.To != "" {
						c.To = filepath.Join(root, c.To)
					}
					return []command{c}
				})
				require.Equal(t, records, m.records(), "a lease was taken by: %s %s", c.Op, c.Path)
			}
			assert.Empty(t, before.diff(m.digest()), "a trace in the tree")
		})
	}
	require.Equal(t, "free", m.worktreeStatus("source").State)
	require.Zero(t, m.worktreeStatus("source").Refusals, "nothing of that is the fence's")
}

// othersCommands are calls that the kernel lets pass without asking for a permission, or
// that it does not know to be forbidden.
func othersCommands() (all []command) {
	for _, name := range []string{"plain", "setuid", "capable", "dir", "fifo", "fixed", "fixed-dir", "sticky/theirs"} {
		all = append(all, command{Op: "chown", Path: name, UID: -1, GID: -1})
	}
	return append(all,
		command{Op: "lchown", Path: "symlink", UID: -1, GID: -1},
		command{Op: "fchown", Path: "plain", UID: -1, GID: -1},
		command{Op: "fchown", Path: "capable", UID: -1, GID: -1},
		command{Op: "chown", Path: "plain", UID: ownerOfRows, GID: -1},
		command{Op: "chown", Path: "plain", UID: -1, GID: ownerOfRows},
		command{Op: "unlink", Path: "sticky/theirs"},
		command{Op: "rename", Path: "sticky/theirs", To: "sticky/mine"},
		command{Op: "setxattr", Path: "sticky", Name: "user.x", Data: []byte("x")},
		command{Op: "writefile", Path: "fixed"},
		command{Op: "truncate", Path: "fixed"},
		command{Op: "touch", Path: "fixed"},
		command{Op: "chmod", Path: "fixed", Mode: 0o600},
		command{Op: "setxattr", Path: "fixed", Name: "user.x", Data: []byte("x")},
		command{Op: "writefile", Path: "growing"},
		command{Op: "truncate", Path: "growing"},
		command{Op: "unlink", Path: "growing"},
		command{Op: "link", Path: "fixed", To: "fixed-dir/link"},
		command{Op: "mkdir", Path: "fixed-dir/new", Mode: 0o755},
		command{Op: "mknod", Path: "fixed-dir/new", Mode: unix.S_IFIFO | 0o600},
		command{Op: "symlink", Path: "fixed-dir/new", To: "x"},
		command{Op: "writefile", Path: "fixed-dir/new", Flags: unix.O_CREAT, Mode: 0o600},
		command{Op: "tmpfile", Path: "fixed-dir", To: "fixed-dir/new", Mode: 0o600},
	)
}

// asNative compares the answers in the mount with those of a plain directory.
func asNative(t *testing.T, a *actor, m *mount, plain, what string, make func(root string) []command) {
	t.Helper()
	assert.Equal(t, answers(t, a, make(plain)), answers(t, a, make(m.Mountpoint)), what)
}

// An owner of what nobody may change any more takes no lease with it either, and where
// somebody holds, a stranger is refused as ever.
func TestTheUnentitledWhileAnotherHolds(t *testing.T) {
	m := newMount(t, mountOptions{prepare: prepareTheirs})
	owner := startActorAs(t, "owner", identity{uid: ownerOfRows, gid: ownerOfRows})
	stranger := startActorAs(t, "stranger", identity{uid: 1001, gid: 1001})
	records := m.records()
	for _, c := range []command{m.put("fixed"), {Op: "chmod", Path: m.At("fixed"), Mode: 0o600}, {Op: "unlink", Path: m.At("growing")},
		{Op: "mkdir", Path: m.At("fixed-dir/new")}} {
		owner.fails(c, "EPERM")
	}
	require.Equal(t, records, m.records())
	touched := command{Op: "chown", Path: m.At("plain"), UID: -1, GID: -1}
	for range 100 {
		stranger.ok(touched)
	}
	owner.ok(m.put("plain"))
	before := m.digest()
	stranger.fails(touched, "EROFS")
	require.Empty(t, before.diff(m.digest()))
	owner.ok(touched)
	require.NotEmpty(t, before.diff(m.digest()), "the owner changes the time of change")
	_, r := m.headClaim("")
	require.Equal(t, uint64(1), r.token(t))
	require.Contains(t, r.HolderID, ":"+strconv.Itoa(owner.pid())+":")
}
