package fence

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// newMountInNamespace runs the daemon in a pid namespace of its own, with its
// own /proc, and the mount where all can see it, by shared propagation: as a
// container does that mounts for its host. The daemon is process 1 in there.
func newMountInNamespace(t *testing.T, o harness.MountOptions) *harness.Mount {
	t.Helper()
	shared := harness.NewBase(t) // made first, and so taken away after the mount
	require.NoError(t, unix.Mount(shared, shared, "", unix.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(shared, 0)) })
	require.NoError(t, unix.Mount("", shared, "", unix.MS_SHARED, ""))
	m := harness.PrepareMount(t, o)
	m.Mountpoint = filepath.Join(shared, "mnt")
	require.NoError(t, os.Mkdir(m.Mountpoint, 0o755))

	// A private /proc mount carries the new one, so that it stays in there.
	argv := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount", "--propagation", "unchanged", "sh", "-c",
		`mount --make-private /proc && mount -t proc proc /proc && exec "$@"`, "sh",
		m.Bin, "mount", "--foreground", "--control", m.LockDir, "--log-file", m.LogFile()}
	argv = append(append(argv, m.Opts.Policy.Args()...), m.Opts.Extra...)
	if o.OnFree != "" {
		argv = append(argv, "--on-free", o.OnFree)
	}
	m.Mounted, m.WasMounted = true, true
	b := m.Start(append(argv, m.Source, m.Mountpoint)...)
	t.Cleanup(func() { // before the checks of what is left
		m.Unmount()
		exit, said := b.Wait()
		require.Zero(t, exit, said)
	})
	harness.EventuallyNoted(t, "the mount serves, seen from outside", func() (bool, string) {
		out, errs, exit := m.CLI("lock", "status", m.Mountpoint)
		return harness.TopType(t, m.Mountpoint) == "fuse.jvsfs" && exit == 0, out + errs + harness.ReadText(t, b.File)
	})
	return m
}

// inside runs jvsfs in the daemon's namespaces.
func inside(m *harness.Mount, t *testing.T, args ...string) {
	t.Helper()
	pids := m.Daemons()
	require.Len(t, pids, 1)
	argv := append([]string{"--target", strconv.Itoa(pids[0]), "--pid", "--mount", m.Bin}, args...)
	out, err := exec.CommandContext(t.Context(), "nsenter", argv...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// holdInside takes the lease in the daemon's namespaces. Process 1 there is the daemon: everybody in
// there descends from it, so it cannot hold a lease of scope tree.
func holdInside(m *harness.Mount, t *testing.T, scope string) (release func()) {
	t.Helper()
	if scope != "tree" {
		inside(m, t, "lock", "acquire", "--pid", "1", m.Mountpoint)
		return func() {}
	}
	end := filepath.Join(m.Base, "end")
	require.NoError(t, unix.Mkfifo(end, 0o600))
	b := m.Start("nsenter", "--target", strconv.Itoa(m.Daemons()[0]), "--pid", "--mount", m.Bin, "exec", m.Mountpoint, "--",
		"sh", "-c", "read -r line <"+end)
	harness.Eventually(t, "it is held", func() bool { return m.WorktreeStatus("source").State == "held" })
	return func() {
		t.Helper()
		require.NoError(t, os.WriteFile(end, []byte("end\n"), 0))
		exit, said := b.Wait()
		require.Zero(t, exit, said)
	}
}

// A writer outside of the daemon's pid namespace has no number in there. Under
// a scope that needs to know the process it is nobody: refused, whoever holds.
// Scopes that do not, let it in by what is known of it.
func TestAWriterOfAnUnseenPidNamespaceIsRefusedWhereItsProcessCounts(t *testing.T) {
	for _, c := range []struct {
		scope         string
		root, another bool // may write: root, a user
	}{{"tree", false, false}, {"session", false, false}, {"user", true, false}, {"mount", true, true}} {
		t.Run(c.scope, func(t *testing.T) {
			m := newMountInNamespace(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithOpenRoot, Extra: []string{"--scope", c.scope}})
			root, another := harness.StartActor(t, "root"), harness.StartActorAs(t, "another", harness.Identity{UID: 1000, GID: 1000})
			expectPassed(m, t, root, false)
			release := holdInside(m, t, c.scope)
			expectPassed(m, t, root, c.root)
			expectPassed(m, t, another, c.another)
			release()
		})
		t.Run(c.scope+"/by the first write", func(t *testing.T) {
			m := newMountInNamespace(t, harness.MountOptions{Prepare: harness.WithOpenRoot, Extra: []string{"--scope", c.scope}})
			root, another := harness.StartActor(t, "root"), harness.StartActorAs(t, "another", harness.Identity{UID: 1000, GID: 1000})
			expectPassed(m, t, root, c.root)
			expectPassed(m, t, another, c.another)
			if !c.root {
				require.Contains(t, strings.Join(m.WorktreeStatus("source").LastRefusals, "\n"), "another pid namespace")
			}
		})
	}
}

func expectPassed(m *harness.Mount, t *testing.T, a *harness.Actor, passes bool) {
	t.Helper()
	name := "of " + a.Name
	if passes {
		a.OK(m.Put(name))
		a.OK(harness.Command{Op: "chmod", Path: m.At(name), Mode: 0o600})
		require.FileExists(t, m.Behind(name))
		return
	}
	before := m.Digest()
	a.Fails(m.Put(name), "EROFS")
	a.Fails(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EROFS")
	require.Empty(t, before.Diff(m.Digest()))
}
