package fence

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// A user who may not write takes no lease: every mutating call without the permission fails as it does
// natively, and makes no record.

// netRaw is CAP_NET_RAW, permitted and effective (struct vfs_cap_data, linux/capability.h).
// chown takes it away natively, whoever asks; a stranger's must not through the mount.
var netRaw = []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// ownerOfRows owns the trees; what others may is what groups, ACLs and capabilities say.
const ownerOfRows = 1000

// prepareTheirs is a tree of somebody's rows, and what only matters to those who may not
// write.
func prepareTheirs(t testing.TB, tree string) {
	t.Helper()
	prepareRows(t, tree)
	harness.WithFiles("plain", "setuid", "capable", "fixed", "growing")(t, tree)
	harness.WithDir("dir")(t, tree)
	harness.WithDir("sticky")(t, tree)
	harness.WithDir("fixed-dir")(t, tree)
	harness.Must(t, os.Symlink("plain", filepath.Join(tree, "symlink")))
	harness.Must(t, unix.Mkfifo(filepath.Join(tree, "fifo"), 0o600))
	harness.WithFiles("sticky/theirs")(t, tree)
	harness.Must(t, filepath.Walk(tree, func(path string, info os.FileInfo, err error) error {
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
	harness.Must(t, unix.Chmod(filepath.Join(tree, "setuid"), 0o6755))
	harness.Must(t, unix.Chmod(filepath.Join(tree, "sticky"), 0o1777))
	harness.Must(t, unix.Setxattr(filepath.Join(tree, "capable"), "security.capability", netRaw, 0))
	for name, flag := range map[string]string{"fixed": "+i", "growing": "+a", "fixed-dir": "+i"} {
		path := filepath.Join(tree, name)
		harness.Must(t, unix.Removexattr(path, harness.ACLAccess))
		harness.Must(t, unix.Chmod(path, 0o777)) // and still nobody may
		harness.Must(t, operation.Do(tree, "chattr "+name+" "+flag))
		t.Cleanup(func() { harness.Must(t, operation.Do(tree, "chattr "+name+" -")) })
	}
}

func addMaskedUser(path string, info os.FileInfo) error {
	if _, err := unix.Getxattr(path, harness.ACLAccess, nil); err == nil {
		return nil // a row about ACLs
	}
	perm := uint16(info.Mode().Perm())
	return unix.Setxattr(path, harness.ACLAccess, harness.EncodeACL(
		harness.ACLEntry{Tag: harness.ACLUserObj, Perm: perm >> 6, ID: harness.ACLNobody}, harness.ACLEntry{Tag: harness.ACLUser, Perm: 7, ID: 1003},
		harness.ACLEntry{Tag: harness.ACLGroupObj, Perm: perm >> 3 & 7, ID: harness.ACLNobody}, harness.ACLEntry{Tag: harness.ACLMask, Perm: 5, ID: harness.ACLNobody}, harness.ACLEntry{Tag: harness.ACLOther, Perm: perm & 5, ID: harness.ACLNobody}), 0)
}

// unentitled are the kinds of users who may not write.
func unentitled(t *testing.T) map[string]*harness.Actor {
	return map[string]*harness.Actor{
		"another user":                harness.StartActorAs(t, "another", harness.Identity{UID: 1001, GID: 1001}),
		"the group, which may read":   harness.StartActorAs(t, "group", harness.Identity{UID: 1002, GID: 1002, Groups: []uint32{ownerOfRows}}),
		"named in an ACL, but masked": harness.StartActorAs(t, "masked", harness.Identity{UID: 1003, GID: 1003}),
		"root without capabilities":   startActorBy(t, "powerless", "setpriv", "--bounding-set=-all", "--inh-caps=-all"),
		"root of a user namespace":    startActorIn(t, "namespaced", 1001),
	}
}

// startActorBy starts an actor through a command that changes what it may.
func startActorBy(t *testing.T, name string, argv ...string) *harness.Actor {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer self.Close()
	cmd := exec.Command(argv[0], append(argv[1:], "--", "/proc/self/fd/3")...)
	cmd.ExtraFiles = []*os.File{self}
	return harness.ServeActor(t, name, cmd)
}

// startActorIn starts an actor that is root in a user namespace of its own, and uid out of it.
func startActorIn(t *testing.T, name string, uid int) *harness.Actor {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids,
		Credential: &syscall.Credential{NoSetGroups: true}}
	return harness.ServeActor(t, name, cmd)
}

func recordFiles(m *harness.Mount) []string {
	m.T.Helper()
	names, err := filepath.Glob(filepath.Join(m.LockDir, "*"))
	require.NoError(m.T, err)
	return names
}

func TestAUserWhoMayNotWriteTakesNoLeaseByWriting(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: prepareTheirs})
	plain := filepath.Join(m.Base, "plain")
	require.NoError(t, os.Mkdir(plain, 0o755))
	prepareTheirs(t, plain)
	records, before := recordFiles(m), m.Digest()
	for who, a := range unentitled(t) {
		t.Run(who, func(t *testing.T) {
			for _, r := range allRows() {
				asNative(t, a, m, plain, r.name, func(root string) []harness.Command {
					return below(r.dir(root), r.open+"; "+r.run+"; drop")
				})
				require.Equal(t, records, recordFiles(m), "a lease was taken by: %s", r.name)
			}
			for _, lines := range othersLines() {
				asNative(t, a, m, plain, lines, func(root string) []harness.Command { return below(root, lines) })
				require.Equal(t, records, recordFiles(m), "a lease was taken by: %s", lines)
			}
			assert.Empty(t, before.Diff(m.Digest()), "a trace in the tree")
		})
	}
	require.Equal(t, "free", m.WorktreeStatus("source").State)
	require.Zero(t, m.WorktreeStatus("source").Refusals, "nothing of that is the fence's")
}

// othersLines are calls that the kernel lets pass without asking for a permission, or
// that it does not know to be forbidden.
func othersLines() (all []string) {
	for _, name := range []string{"plain", "setuid", "capable", "dir", "fifo", "fixed", "fixed-dir", "sticky/theirs"} {
		all = append(all, "chown "+name+" -1 -1")
	}
	return append(all,
		"lchown symlink -1 -1",
		"open plain ro =h; fchown h -1 -1; drop",
		"open capable ro =h; fchown h -1 -1; drop",
		fmt.Sprintf("chown plain %d -1", ownerOfRows),
		fmt.Sprintf("chown plain -1 %d", ownerOfRows),
		"unlink sticky/theirs",
		"rename sticky/theirs sticky/mine",
		"setxattr sticky user.x x",
		"writefile fixed 0 wo",
		"truncate fixed 0",
		"utimens fixed now now",
		"chmod fixed 0600",
		"setxattr fixed user.x x",
		"writefile growing 0 wo",
		"truncate growing 0",
		"unlink growing",
		"link fixed fixed-dir/link",
		"mkdir fixed-dir/new 0755",
		"mknod fixed-dir/new p 0600",
		"symlink x fixed-dir/new",
		"writefile fixed-dir/new 0 creat 0600",
		"tmpfile fixed-dir fixed-dir/new 0600",
	)
}

// asNative compares the answers in the mount with those of a plain directory.
func asNative(t *testing.T, a *harness.Actor, m *harness.Mount, plain, what string, make func(root string) []harness.Command) {
	t.Helper()
	assert.Equal(t, harness.Answers(t, a, make(plain)), harness.Answers(t, a, make(m.Mountpoint)), what)
}

// An owner of what nobody may change any more takes no lease with it either, and where
// somebody holds, a stranger is refused as ever.
func TestAUserWhoMayNotWriteIsRefusedWhileAnotherHolds(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: prepareTheirs})
	owner := harness.StartActorAs(t, "owner", harness.Identity{UID: ownerOfRows, GID: ownerOfRows})
	stranger := harness.StartActorAs(t, "stranger", harness.Identity{UID: 1001, GID: 1001})
	records := recordFiles(m)
	for _, c := range []harness.Command{m.Put("fixed"), {Op: "chmod", Path: m.At("fixed"), Mode: 0o600}, {Op: "unlink", Path: m.At("growing")},
		{Op: "mkdir", Path: m.At("fixed-dir/new")}} {
		owner.Fails(c, "EPERM")
	}
	require.Equal(t, records, recordFiles(m))
	touched := harness.Command{Op: "chown", Path: m.At("plain"), UID: -1, GID: -1}
	for range 100 {
		stranger.OK(touched)
	}
	owner.OK(m.Put("plain"))
	before := m.Digest()
	stranger.Fails(touched, "EROFS")
	require.Empty(t, before.Diff(m.Digest()))
	owner.OK(touched)
	require.NotEmpty(t, before.Diff(m.Digest()), "the owner changes the time of change")
	_, r := m.HeadClaim("")
	require.Equal(t, uint64(1), r.TokenNumber(t))
	require.Contains(t, r.HolderID, ":"+strconv.Itoa(owner.PID())+":")
}
