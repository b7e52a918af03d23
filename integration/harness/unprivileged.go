package harness

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Unprivileged is somebody without privileges who runs jvsfs: with a home and a runtime directory of his own, and with
// fusermount3 as the machine has it.
type Unprivileged struct {
	Workshop
	Bin  string
	Home string
	Run  string // XDG_RUNTIME_DIR
	Base string // above both; root's
}

// NewUnprivileged makes one. fusermount3 mounts only for users whom the machine knows, and Debian knows games.
func NewUnprivileged(t *testing.T) *Unprivileged {
	t.Helper()
	base := NewBase(t)
	usableFUSE(t, base)
	u := &Unprivileged{Base: base, Bin: filepath.Join(base, "bin", "jvsfs"), Home: filepath.Join(base, "home"), Run: filepath.Join(base, "run")}
	require.NoError(t, os.Mkdir(filepath.Dir(u.Bin), 0o755))
	require.NoError(t, CopyBinary(RequireBinary(t), u.Bin))
	id, err := user.Lookup("games")
	require.NoError(t, err)
	uid, err := strconv.Atoi(id.Uid)
	require.NoError(t, err)
	gid, err := strconv.Atoi(id.Gid)
	require.NoError(t, err)
	for _, dir := range []string{u.Home, u.Run} {
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.Chown(dir, uid, gid))
	}
	require.NoError(t, os.Chmod(u.Home, 0o755))
	u.Workshop = u.As(t, id.Uid, id.Gid)
	t.Cleanup(func() { u.clear(t) })
	return u
}

// As is the workshop of somebody in this environment.
func (u *Unprivileged) As(t *testing.T, uid, gid string) Workshop {
	return Workshop{T: t, Dir: "/", Prefix: []string{"setpriv", "--reuid=" + uid, "--regid=" + gid, "--clear-groups"}, Env: []string{
		"HOME=" + u.Home, "XDG_RUNTIME_DIR=" + u.Run, "PATH=" + filepath.Dir(u.Bin) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}}
}

// Shell runs a line of bash. A variable in env (NAME=value) counts before those of the user.
func (u *Unprivileged) Shell(line string, env ...string) ToolRun {
	u.T.Helper()
	w := u.Workshop
	w.Env = append(append([]string{}, w.Env...), env...)
	return w.Run("bash", "-c", line)
}

// Must is Shell of a line that must succeed.
func (u *Unprivileged) Must(line string, env ...string) (out, errs string) {
	u.T.Helper()
	r := u.Shell(line, env...)
	if r.Exit != 0 {
		require.Zero(u.T, r.Exit, "%s\n%s", line, Shown(u.T, r.Out+r.Errs))
	}
	return r.Out, r.Errs
}

// clear waits until the user's daemons have ended. A test that failed may have left mounts.
func (u *Unprivileged) clear(t *testing.T) {
	left, err := MountsBelow(u.Home)
	require.NoError(t, err)
	for _, at := range left {
		t.Errorf("left mounted: %s", at)
		at, _, _ = strings.Cut(at, " (")
		require.NoError(t, unix.Unmount(at, unix.MNT_DETACH))
	}
	Eventually(t, "no process of the user is left", func() bool { return len(ProcessesOf(u.Bin)) == 0 })
}

// usableFUSE lets users open /dev/fuse, as they may where udev has set its mode.
func usableFUSE(t *testing.T, base string) {
	t.Helper()
	var st unix.Stat_t
	require.NoError(t, unix.Stat("/dev/fuse", &st))
	if st.Mode&0o006 == 0o006 {
		return
	}
	dir := filepath.Join(base, "dev")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	node := filepath.Join(dir, "fuse")
	require.NoError(t, unix.Mknod(node, unix.S_IFCHR|0o666, int(st.Rdev)))
	require.NoError(t, os.Chmod(node, 0o666))
	require.NoError(t, unix.Mount(node, "/dev/fuse", "", unix.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount("/dev/fuse", unix.MNT_DETACH)) })
}

// KillDaemons ends the daemons of the user, and waits until all of his processes are gone.
func (u *Unprivileged) KillDaemons(signal unix.Signal) {
	u.T.Helper()
	endAll(u.T, slices.DeleteFunc(ProcessesOf(u.Bin), func(pid int) bool { return !isDaemon(pid) }), signal, func() {})
	Eventually(u.T, "the daemon's helpers have ended", func() bool { return len(ProcessesOf(u.Bin)) == 0 })
}
