package service

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// container runs a script as in a container that was given the mount, and has a /run/jvsfs, and
// mostly a /sys, of its own; $0 is jvsfs, $1 the mount point.
func container(m *harness.Mount, script string, options ...string) (said string, err error) {
	args := append([]string{"--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc"}, options...)
	args = append(args, "bash", "-c", `mount -t tmpfs -o mode=755 tmpfs /run/jvsfs || exit 99
mount -t tmpfs tmpfs /sys || exit 99
`+script, m.Bin, m.Mountpoint)
	cmd := exec.Command("unshare", args...)
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Who sees a mount from where its daemon's socket is not is told that it lives: nothing there
// calls it dead, or takes it away with the fence.
func TestAMountWhoseDaemonIsNotSeenIsNotDead(t *testing.T) {
	for name, options := range map[string][]string{"root": nil, "user namespace": {"--user", "--map-root-user"}} {
		t.Run(name, func(t *testing.T) {
			m := harness.NewMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
			a := harness.StartActor(t, "a")
			m.Acquire(a)
			for script, want := range map[string]string{
				`"$0" status`: "is alive, but its daemon cannot be asked from here", `"$0" status --json`: `"state": "silent"`,
				`"$0" lock status "$1"`: "is alive, but its daemon cannot be asked from here",
				`"$0" umount "$1"`:      "is alive, but its daemon cannot be asked from here",
				`"$0" recover "$1"`:     "is alive, but its daemon cannot be asked from here",
				`"$0" umount --bare "$1"; s=$?; findmnt -no FSTYPE "$1"; exit $s`: "is not dead, and --bare takes away dead mounts alone",
			} {
				said, err := container(m, script, options...)
				require.Contains(t, said, want, "%s: %v", script, err)
				require.NotContains(t, said, "is dead", script)
				require.NotContains(t, said, "umount --bare "+m.Mountpoint, script)
			}
			said, err := container(m, `"$0" umount --bare "$1"; findmnt -no FSTYPE "$1"`, options...)
			require.NoError(t, err, said)
			require.Contains(t, said, "fuse.jvsfs\n", "it is there still")
			a.OK(m.Put("g"))
		})
	}
}

// A stopped daemon lives as well: what it has begun it goes on with.
func TestUmountBareLeavesTheMountOfAStoppedDaemon(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	var pids []int
	harness.Eventually(t, "the daemon has its guardian, which began as a copy of it", func() bool { pids = m.Daemons(); return len(pids) == 1 })
	require.NoError(t, unix.Kill(pids[0], unix.SIGSTOP))
	_, said, exit := m.CLI("umount", "--bare", m.Mountpoint)
	require.NoError(t, unix.Kill(pids[0], unix.SIGCONT))
	require.Equal(t, harness.ExitDead, exit, said)
	require.Contains(t, said, "is not dead")
	require.Contains(t, said, "kill -CONT")
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint))
	a.OK(m.Put("g"))
}

// A dead mount is known to be dead from there, and is taken away there: of what would bring the
// mount back where it was made nothing is lost.
func TestADeadMountIsUnmountedFromAnotherNamespace(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	m.KillDaemon()
	said, err := container(m, `"$0" status; "$0" umount --bare "$1" && findmnt -no FSTYPE "$1" || echo bared`)
	require.NoError(t, err, said)
	require.Contains(t, said, "is dead")
	require.NotContains(t, said, "fuse.jvsfs")
	m.Recover()
	a.OK(m.Put("g"))
}
