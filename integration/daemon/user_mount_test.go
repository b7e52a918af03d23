package daemon

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// held holds the lease of a worktree for a shell of the user, until the returned function is called.
func held(t *testing.T, u *harness.Unprivileged, worktree string) (release func()) {
	t.Helper()
	argv := append(append([]string{}, u.Prefix...), u.Bin, "exec", "--purpose", "story", worktree, "--", "sh", "-c", "echo held; read -r end; exit 0")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = u.Env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", said)
	return func() {
		t.Helper()
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	}
}

// requireNothingOfMounts waits until the daemon has taken away its socket and its state. It answers umount first.
func requireNothingOfMounts(t *testing.T, u *harness.Unprivileged) {
	t.Helper()
	dir := filepath.Join(u.Run, "jvsfs")
	require.DirExists(t, dir)
	harness.Eventually(t, "the user's run directory is empty", func() bool {
		left, err := os.ReadDir(dir)
		return err == nil && len(left) == 0
	})
}

// A user without root mounts over a directory of his own. What he keeps lies in his own directories.
func TestAUserMountsWithoutRoot(t *testing.T) {
	u := harness.NewUnprivileged(t)
	_, errs := u.Must("umask 022; mkdir ~/d; echo one >~/d/f; jvsfs mount ~/d")
	require.Contains(t, errs, "mounted without root, for processes of games alone")
	require.Contains(t, errs, "weaker than root's mount")
	require.NotContains(t, errs, "these processes use", "the daemon itself is no way past the mount")
	require.DirExists(t, filepath.Join(u.Home, ".local/state/jvsfs/locks"))
	for _, dir := range []string{filepath.Join(u.Run, "jvsfs"), filepath.Join(u.Home, ".local/state/jvsfs")} {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), dir)
	}

	release := held(t, u, u.Home+"/d")
	for _, write := range []string{"echo two >~/d/f", "mkdir ~/d/x", "ln ~/d/f ~/d/g", "rm ~/d/f", "chmod 600 ~/d/f"} {
		r := u.Shell(write)
		require.NotZero(t, r.Exit, write)
		require.Contains(t, r.Errs, "Read-only file system", write)
	}
	r := u.Shell("cat ~/d/f; jvsfs explain ~/d/f")
	require.Equal(t, harness.ExitConflict, r.Exit)
	require.Contains(t, r.Out, "one\n", "reads go on")
	require.Contains(t, r.Out, "for story")
	require.Equal(t, harness.ExitConflict, u.Shell("jvsfs lock acquire --pid $$ ~/d; exit $?").Exit)
	out, _ := u.Must("jvsfs status; jvsfs doctor || true")
	require.Contains(t, out, "(story)")
	require.NotContains(t, out, "bypass.process")
	release()

	// Who writes first takes the lease, and every call works.
	out, _ = u.Must("echo two >~/d/f; umask 027; mkdir ~/d/x; ln ~/d/f ~/d/x/g; echo p >~/d/private; chmod 400 ~/d/x/g; mv ~/d/x/g ~/d/h; ln -s f ~/d/s; truncate -s 1 ~/d/private; rm ~/d/f; cat ~/d/h; stat -c '%a %U %h %s' ~/d/h ~/d/private")
	require.Equal(t, "two\n400 games 1 4\n640 games 1 1\n", out)
	u.Must("jvsfs exec ~/d -- sh -c 'echo three >~/d/t'; jvsfs lock acquire --pid $$ ~/d; echo four >>~/d/t; jvsfs lock release --pid $$ ~/d; jvsfs umount ~/d")
	requireNothingOfMounts(t, u)
	require.FileExists(t, filepath.Join(u.Home, "d", "t"))
}

// Each worktree of a git repository has a lease of its own, and git works.
func TestAUserGuardsHisWorktrees(t *testing.T) {
	u := harness.NewUnprivileged(t)
	u.Must("git init -q -b main ~/team && cd ~/team && echo 1 >f && git add f && git commit -q -m one && cd / && jvsfs mount ~/team")
	u.Must("git -C ~/team worktree add -q -b side .worktrees/side")
	side := u.Home + "/team/.worktrees/side"
	release := held(t, u, side)
	require.NotZero(t, u.Shell("echo x >~/team/.worktrees/side/f").Exit)
	require.NotZero(t, u.Shell("git -C ~/team branch -D side").Exit)
	u.Must("cd ~/team && echo 2 >g && git add g && git commit -q -m two") // main is free meanwhile
	release()
	u.Must("jvsfs exec ~/team/.worktrees/side -- sh -c 'cd ~/team/.worktrees/side && echo 3 >f && git commit -q -a -m three'")
	out, _ := u.Must("jvsfs exec ~/team -- git -C ~/team merge -q --no-edit side && git -C ~/team fsck && git -C ~/team gc -q && cat ~/team/f ~/team/g; jvsfs umount ~/team")
	require.Equal(t, "3\n2\n", out)
}

// Nobody else comes through the mount or talks to its daemon, root included.
func TestNobodyElseGetsIntoAUsersMount(t *testing.T) {
	u := harness.NewUnprivileged(t)
	u.Must("mkdir ~/d; echo one >~/d/f; jvsfs mount ~/d")
	d := u.Home + "/d"
	root := u.As(t, "0", "0")
	other := u.As(t, "65534", "65534")
	for name, w := range map[string]harness.Workshop{"root": root, "another user": other} {
		for _, argv := range [][]string{{"cat", d + "/f"}, {"touch", d + "/g"}} {
			r := w.Run(argv...)
			require.NotZero(t, r.Exit, "%s: %v", name, argv)
			require.Contains(t, r.Errs, "Permission denied", "%s: %v", name, argv)
		}
		out := w.OK(u.Bin, "status")
		require.Contains(t, out, d+"  forbidden", name)
		require.Contains(t, out, "was made by user games, without root", name)
		for _, argv := range [][]string{{"umount", d}, {"umount", "--bare", d}, {"lock", "status", d}, {"exec", d, "--", "true"}, {"enforce", d, "observe"}} {
			r := w.Run(append([]string{u.Bin}, argv...)...)
			require.NotZero(t, r.Exit, "%s: %v", name, argv)
			require.Contains(t, r.Errs, "was made by user games", "%s: %v", name, argv)
		}
	}
	r := root.Run(u.Bin, "recover")
	require.NotContains(t, r.Out+r.Errs, d, "root leaves the mounts of users alone")
	sockets, err := filepath.Glob(u.Run + "/jvsfs/*.sock")
	require.NoError(t, err)
	require.Len(t, sockets, 1)
	other.Fails(1, "Permission denied", "stat", sockets[0])
	u.Must("cat ~/d/f; jvsfs umount ~/d")
}

// A killed daemon leaves a mount that refuses everything. The user takes it away and mounts anew; tokens go on.
func TestAUserUnmountsADeadMountAndMountsAnew(t *testing.T) {
	u := harness.NewUnprivileged(t)
	u.Must("mkdir ~/d; echo one >~/d/f; jvsfs mount ~/d; jvsfs exec ~/d -- true")
	u.KillDaemons(unix.SIGKILL)
	r := u.Shell("cat ~/d/f")
	require.Contains(t, r.Errs, "Transport endpoint is not connected")
	out, _ := u.Must("jvsfs status")
	require.Contains(t, out, "dead")
	require.Contains(t, out, "jvsfs umount --bare "+u.Home+"/d")
	require.NotContains(t, out, "jvsfs recover "+u.Home, "which only root can")
	for line, says := range map[string]string{
		"jvsfs recover": "needs root", "jvsfs recover ~/d": "needs root", "jvsfs mount --recover ~/d": "needs root", "jvsfs mount --replace ~/d": "needs root",
		"jvsfs umount ~/d": "jvsfs umount --bare", "jvsfs mount ~/d": "on the jvsfs mount at",
	} {
		r := u.Shell(line)
		require.NotZero(t, r.Exit, line)
		require.Contains(t, r.Errs, says, line)
		require.Contains(t, r.Errs, "umount", line)
	}
	u.Must("jvsfs umount --bare ~/d; cat ~/d/f; jvsfs mount ~/d")
	out, _ = u.Must("jvsfs exec ~/d -- jvsfs lock status ~/d; jvsfs umount ~/d")
	require.Regexp(t, `token +2\n`, out)
	requireNothingOfMounts(t, u)
}

// A daemon that is told to end while the mount is busy ends, and leaves a dead mount, also where the user
// cannot abort the connection.
func TestADaemonOfAUserEndsAlthoughItsMountIsBusy(t *testing.T) {
	u := harness.NewUnprivileged(t)
	u.Must("mkdir ~/d; echo one >~/d/f; jvsfs mount ~/d")
	busy := exec.Command("setpriv", append(u.Prefix[1:], "sh", "-c", "cd "+u.Home+"/d && echo in && read -r end")...)
	in, err := busy.StdinPipe()
	require.NoError(t, err)
	out, err := busy.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, busy.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, u.Shell("jvsfs umount ~/d").Errs, "keep "+u.Home+"/d busy")
	u.KillDaemons(unix.SIGTERM)
	require.Contains(t, u.Shell("cat ~/d/f").Errs, "Transport endpoint is not connected")
	require.NoError(t, in.Close())
	_ = busy.Wait() // read fails
	u.Must("jvsfs umount --bare ~/d")
}

// What a user cannot do says so, with the way out, and mounts nothing.
func TestAUserIsToldWhyAMountIsRefused(t *testing.T) {
	u := harness.NewUnprivileged(t)
	u.Must("mkdir ~/d ~/in ~/plain ~/link; ln -s ~/d ~/link/jvsfs; chmod 700 ~/link; mkdir -m 777 ~/open; mkdir ~/in/side")
	require.NoError(t, os.Mkdir(u.Base+"/roots", 0o777))
	require.NoError(t, os.Chmod(u.Base+"/roots", 0o777))
	require.NoError(t, unix.Mount("tmpfs", u.Home+"/in/side", "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(u.Home+"/in/side", 0)) })
	require.NoError(t, os.Mkdir(u.Base+"/foreign", 0o755))
	for _, row := range []struct{ env, line, says, next string }{
		{"", "jvsfs mount " + u.Base + "/roots", "needs root, or to own it: " + u.Base + "/roots belongs to root", "sudo"},
		{"", "jvsfs mount ~/d " + u.Base + "/roots", "belongs to root", "a directory of your own"},
		{"", "jvsfs mount ~", "jvsfs itself needs what lies at", "--control"},
		{"", "jvsfs mount ~/in", "file systems are mounted inside of", "unmount them first"},
		{"", "jvsfs mount -o nosymfollow ~/d", "nosymfollow needs root", "leave it out"},
		{"", "jvsfs mount -o noexec,allow_other ~/d", "allow_other needs root", "leave it out"},
		{"XDG_RUNTIME_DIR=" + u.Base + "/foreign", "jvsfs mount ~/d", "jvsfs keeps nothing of games in " + u.Base + "/foreign", "set XDG_RUNTIME_DIR"},
		{"XDG_RUNTIME_DIR=" + u.Base + "/nope", "jvsfs mount ~/d", "no such file or directory", "set XDG_RUNTIME_DIR"},
		{"XDG_RUNTIME_DIR=" + u.Home + "/open", "jvsfs mount ~/d", "others may write there", "mode 0700"},
		{"XDG_RUNTIME_DIR=" + u.Home + "/link", "jvsfs mount ~/plain", "it is a link", "set XDG_RUNTIME_DIR"},
		{"XDG_STATE_HOME=" + u.Home + "/link", "jvsfs mount ~/plain", "it is a link", "set XDG_STATE_HOME"},
		{"XDG_STATE_HOME=" + u.Base + "/foreign", "jvsfs mount ~/d", "permission denied", "set XDG_STATE_HOME"},
		{"XDG_STATE_HOME=" + u.Home + "/open", "jvsfs mount ~/d", "the lock directory is not safe", "--control"},
		{"XDG_RUNTIME_DIR=" + u.Home + "/" + strings.Repeat("r", 90), "jvsfs mount ~/d", "too long", "a shorter one"},
		{"", "PATH=/nowhere " + u.Bin + " mount ~/d", "needs fusermount3", "install it"},
	} {
		r := u.Shell(row.line, row.env)
		require.NotZero(t, r.Exit, "%s %s\n%s%s", row.env, row.line, r.Out, r.Errs)
		require.Contains(t, r.Errs, row.says, "%s %s", row.env, row.line)
		require.Contains(t, r.Errs, row.next, "%s %s", row.env, row.line)
	}
	other := u.As(t, "65534", "65534")
	other.Env[0] = "HOME=" + u.Base
	r := other.Run(u.Bin, "mount", u.Home+"/open")
	require.NotZero(t, r.Exit)
	require.Contains(t, r.Errs, "belongs to games")
	out, _ := u.Must("jvsfs status")
	require.NotContains(t, out, u.Home)
}

// Another environment than that of the mount is told to the user, and finds root's mounts all the same.
func TestAUserIsToldThatTheMountHasAnotherEnvironment(t *testing.T) {
	u := harness.NewUnprivileged(t)
	u.Must("mkdir ~/d ~/e; unset XDG_RUNTIME_DIR; jvsfs mount ~/d")
	u.Must("jvsfs status | grep serving; jvsfs umount ~/d")
	u.Must("jvsfs mount ~/e")
	r := u.Shell("unset XDG_RUNTIME_DIR; jvsfs umount ~/e")
	require.NotZero(t, r.Exit)
	require.Contains(t, r.Errs, "set XDG_RUNTIME_DIR as it was at the mount")
	u.Must("jvsfs umount ~/e")
}

// Options reach the kernel, and a name is not mistaken for one.
func TestOptionsOfAUsersMountReachTheKernel(t *testing.T) {
	u := harness.NewUnprivileged(t)
	dir := u.Home + `/a,suid b\c,ro`
	u.Must(`mkdir "$DIR"; cp /bin/true "$DIR/prog"; jvsfs mount -o noexec "$DIR"; echo x >"$DIR/f"; jvsfs exec "$DIR" -- touch "$DIR/g"`, "DIR="+dir)
	r := u.Shell(`"$DIR/prog"`, "DIR="+dir)
	require.Contains(t, r.Errs, "Permission denied")
	out, _ := u.Must(`jvsfs status --json; jvsfs umount "$DIR"; jvsfs mount -o ro "$DIR"`, "DIR="+dir)
	require.Contains(t, out, `"source": "`+strings.ReplaceAll(dir, `\`, `\\`)+`"`)
	require.Contains(t, u.Shell(`touch "$DIR/f"`, "DIR="+dir).Errs, "Read-only file system")
	u.Must(`jvsfs umount "$DIR"`, "DIR="+dir)
}

// A command talks to the daemon of the user alone, wherever the environment leads.
func TestAUsersCommandTalksToNoDaemonOfAnother(t *testing.T) {
	u := harness.NewUnprivileged(t)
	u.Must("mkdir ~/d; jvsfs mount ~/d")
	sockets, err := filepath.Glob(u.Run + "/jvsfs/*.sock")
	require.NoError(t, err)
	require.Len(t, sockets, 1)
	elsewhere := filepath.Join(u.Base, "e", "jvsfs")
	require.NoError(t, os.MkdirAll(elsewhere, 0o755))
	socket := filepath.Join(elsewhere, filepath.Base(sockets[0]))
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, os.Chmod(socket, 0o666))
	for _, line := range []string{"jvsfs umount ~/d", "jvsfs lock status ~/d", "jvsfs exec ~/d -- true"} {
		r := u.Shell(line, "XDG_RUNTIME_DIR="+filepath.Dir(elsewhere))
		require.NotZero(t, r.Exit, line)
		require.Contains(t, r.Errs, "user root listens where the daemon of "+u.Home+"/d should", line)
	}
	u.Must("jvsfs umount ~/d")
}

// fusermount3 unmounts as well. The daemon gives the lease back, and leaves nothing.
func TestAUserUnmountsByFusermount(t *testing.T) {
	u := harness.NewUnprivileged(t)
	u.Must("mkdir ~/d; jvsfs mount ~/d; echo x >~/d/f; fusermount3 -u ~/d")
	harness.Eventually(t, "the daemon has ended", func() bool { return len(harness.ProcessesOf(u.Bin)) == 0 })
	out, _ := u.Must("cat ~/d/f; ls $XDG_RUNTIME_DIR/jvsfs; jvsfs lock status ~/d")
	require.Regexp(t, `^x\n`, out)
	require.Regexp(t, `state +free`, out)
	require.NotContains(t, out, ".state")
}
