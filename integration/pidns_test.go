package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// newMountInNamespace runs the daemon in a pid namespace of its own, with its
// own /proc, and the mount where all can see it, by shared propagation: as a
// container does that mounts for its host. The daemon is process 1 in there.
func newMountInNamespace(t *testing.T, o mountOptions) *mount {
	t.Helper()
	requireFuse(t)
	shared := newBase(t) // made first, and so taken away after the mount
	require.NoError(t, unix.Mount(shared, shared, "", unix.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(shared, 0)) })
	require.NoError(t, unix.Mount("", shared, "", unix.MS_SHARED, ""))
	m := prepareMount(t, o)
	m.Mountpoint = filepath.Join(shared, "mnt")
	require.NoError(t, os.Mkdir(m.Mountpoint, 0o755))

	// A private /proc mount carries the new one, so that it stays in there.
	argv := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount", "--propagation", "unchanged", "sh", "-c",
		`mount --make-private /proc && mount -t proc proc /proc && exec "$@"`, "sh",
		m.bin, "mount", "--foreground", "--control", m.LockDir, "--log-file", m.logFile()}
	argv = append(append(argv, m.opts.policy.args()...), m.opts.extra...)
	if o.onFree != "" {
		argv = append(argv, "--on-free", o.onFree)
	}
	m.mounted, m.wasMounted = true, true
	b := m.start(append(argv, m.Source, m.Mountpoint)...)
	t.Cleanup(func() { // before the checks of what is left
		m.unmount()
		exit, said := b.wait()
		require.Zero(t, exit, said)
	})
	eventuallyNoted(t, "the mount serves, seen from outside", func() (bool, string) {
		out, errs, exit := m.CLI("lock", "status", m.Mountpoint)
		return topType(t, m.Mountpoint) == "fuse.jvsfs" && exit == 0, out + errs + readText(t, b.file) + m.logTail()
	})
	return m
}

// inside runs jvsfs in the daemon's namespaces.
func (m *mount) inside(t *testing.T, args ...string) {
	t.Helper()
	pids := m.daemons()
	require.Len(t, pids, 1)
	argv := append([]string{"--target", strconv.Itoa(pids[0]), "--pid", "--mount", m.bin}, args...)
	out, err := exec.CommandContext(t.Context(), "nsenter", argv...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// A writer outside of the daemon's pid namespace has no number in there. Under
// a scope that needs to know the process it is nobody: refused, whoever holds.
// Scopes that do not, let it in by what is known of it.
func TestWriterOfAnUnseenNamespace(t *testing.T) {
	for _, c := range []struct {
		scope         string
		root, another bool // may write: root, a user
	}{{"tree", false, false}, {"session", false, false}, {"user", true, false}, {"mount", true, true}} {
		t.Run(c.scope, func(t *testing.T) {
			m := newMountInNamespace(t, mountOptions{onFree: "deny", prepare: withOpenRoot, extra: []string{"--scope", c.scope}})
			root, another := startActor(t, "root"), startActorAs(t, "another", identity{uid: 1000, gid: 1000})
			m.expectPassed(t, root, false)
			m.inside(t, "lock", "acquire", "--pid", "1", m.Mountpoint)
			m.expectPassed(t, root, c.root)
			m.expectPassed(t, another, c.another)
		})
		t.Run(c.scope+"/by the first write", func(t *testing.T) {
			m := newMountInNamespace(t, mountOptions{prepare: withOpenRoot, extra: []string{"--scope", c.scope}})
			root, another := startActor(t, "root"), startActorAs(t, "another", identity{uid: 1000, gid: 1000})
			m.expectPassed(t, root, c.root)
			m.expectPassed(t, another, c.another)
			if !c.root {
				require.Contains(t, strings.Join(m.worktreeStatus("source").LastRefusals, "\n"), "another pid namespace")
			}
		})
	}
}

func (m *mount) expectPassed(t *testing.T, a *actor, passes bool) {
	t.Helper()
	name := "of " + a.name
	if passes {
		a.ok(m.put(name))
		a.ok(command{Op: "chmod", Path: m.At(name), Mode: 0o600})
		require.FileExists(t, m.Behind(name))
		return
	}
	before := m.digest()
	a.fails(m.put(name), "EROFS")
	a.fails(command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EROFS")
	require.Empty(t, before.diff(m.digest()))
}
