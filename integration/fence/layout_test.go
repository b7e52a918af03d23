package fence

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// withFolder makes a folder as today's JVS does (`jvs init`): control data in the payload.
func withFolder(t testing.TB, root string) {
	for _, dir := range []string{".jvs", ".jvs/locks", ".jvs/audit", "src", "main"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	for name, text := range map[string]string{".jvs/repo_mode": "embedded_control\n", ".jvs/format_version": "1\n", "src/f": "f", "main/f": "f", "both": "b"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	require.NoError(t, os.Link(filepath.Join(root, "both"), filepath.Join(root, ".jvs/both")))
}

// A folder of today's JVS is guarded by one lease, all but .jvs: JVS keeps its own writers apart
// there, so `jvs save` works while somebody else holds the folder.
func TestAFolderOfJVSHasOneLeaseForAllButItsControlData(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: withFolder})
	holder, other := harness.StartActor(t, "holder"), harness.StartActor(t, "other")
	m.Acquire(holder)
	for _, path := range []string{"new", "src/f", "main/f", "src/.jvs"} {
		holder.OK(m.Put(path))
		other.Fails(m.Put(path), "EROFS")
	}
	// As JVS takes its lock, writes a save point, and gives the lock back.
	other.OK(harness.Command{Op: "mkdir", Path: m.At(".jvs/locks/repo.lock"), Mode: 0o755})
	other.OK(m.Put(".jvs/save"))
	other.OK(m.Put(".jvs/audit/audit.jsonl"))
	other.OK(harness.Command{Op: "rmdir", Path: m.At(".jvs/locks/repo.lock")})

	// Nothing leads from there to what is guarded; mv(1) copies instead, which the lease is asked for.
	other.Fails(harness.Command{Op: "rename", Path: m.At(".jvs/save"), To: m.At("src/save")}, "EXDEV")
	other.Fails(harness.Command{Op: "rename", Path: m.At("src/f"), To: m.At(".jvs/f")}, "EXDEV")
	other.Fails(harness.Command{Op: "link", Path: m.At("src/f"), To: m.At(".jvs/f")}, "EXDEV")
	other.Fails(harness.Command{Op: "rename", Path: m.At(".jvs"), To: m.At("jvs")}, "EROFS")
	other.Fails(m.Put(".jvs/both"), "EROFS") // also known as both
	holder.OK(m.Put(".jvs/both"))
	holder.OK(harness.Command{Op: "rename", Path: m.At("src/f"), To: m.At("src/g")})
}

// The control data may come and go with the folder's lease: what .jvs is, its name says.
func TestLayoutFollowsTheNameOfTheControlData(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: withFolder})
	holder, other := harness.StartActor(t, "holder"), harness.StartActor(t, "other")
	m.Acquire(holder)
	other.OK(harness.Command{Op: "open", Handle: "h", Path: m.At(".jvs/save"), Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o644})
	holder.OK(m.Move(".jvs", "jvs-aside"))
	other.Fails(m.Put("jvs-aside/new"), "EROFS")
	other.Fails(harness.Command{Op: "pwrite", Handle: "h", Data: []byte("late")}, "EROFS")
	holder.OK(m.Put("jvs-aside/new"))
	holder.OK(m.Move("jvs-aside", ".jvs"))
	other.OK(m.Put(".jvs/again"))
	holder.OK(m.Put("src/f"))
}

// Who moves .jvs past the mount does not open what it has become to everybody.
func TestControlDataMovedPastTheMountStaysGuarded(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: withFolder})
	holder, other := harness.StartActor(t, "holder"), harness.StartActor(t, "other")
	m.Acquire(holder)
	other.OK(m.Put(".jvs/save"))
	require.NoError(t, os.Rename(m.Behind(".jvs"), m.Behind("aside")))
	other.Fails(m.Put("aside/new"), "EROFS")
	other.Fails(m.Put("aside/save"), "EROFS")
	holder.OK(m.Put("aside/new"))
	require.NoError(t, os.Rename(m.Behind("aside"), m.Behind(".jvs")))
	harness.Eventually(t, "it is .jvs again", func() bool { return other.Do(m.Put(".jvs/again")).Errno == "" })
}

// Records of jvsfs are sealed, also where everybody may write.
func TestLayoutKeepsRecordsInControlDataSealed(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: withFolder})
	m.LockDir = filepath.Join(m.Source, ".jvs") // which everybody may write
	m.Mount()
	holder, other := harness.StartActor(t, "holder"), harness.StartActor(t, "other")
	m.Acquire(holder)
	for _, a := range []*harness.Actor{holder, other} {
		a.Fails(m.Put(".jvs/source.lock"), "EROFS")
		a.Fails(m.Put(".jvs/new"), "EROFS")
		require.Equal(t, "sealed", layoutOf(t, m, m.At(".jvs/new"))[0].Guard)
		a.Fails(m.Move(".jvs", "aside"), "EROFS")
	}
	holder.OK(m.Put("src/f"))
}

// guardedPath is a line of `jvsfs layout --json`.
type guardedPath struct {
	Path, Source, Layout, Guard, Worktree, Why, Mountpoint string
}

func layoutOf(t *testing.T, m *harness.Mount, paths ...string) (all []guardedPath) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(m.MustCLI(append([]string{"layout", "--json"}, paths...)...)), &all))
	require.Len(t, all, len(paths))
	return all
}

// layout says of each path what guards it, with the mount and without.
func TestLayoutSaysWhatGuardsEachPath(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true})
	require.NoError(t, os.Symlink("worktrees/a", m.Behind("link")))
	paths := []string{"main/f", "worktrees/a", "worktrees/absent/x", "link/f", ".jvs/save", ".jvs/locks/main.lock", "notes"}
	want := [][2]string{{"worktree", "main"}, {"worktree", "a"}, {"worktree", "absent"}, {"worktree", "a"}, {"none"}, {"sealed"}, {"none"}}
	require.NoError(t, os.WriteFile(m.Behind("worktrees", "a", "f"), nil, 0o644))
	for _, root := range []string{m.Mountpoint, m.View} {
		var args []string
		for _, p := range paths {
			args = append(args, filepath.Join(root, p))
		}
		for i, g := range layoutOf(t, m, args...) {
			require.Equal(t, want[i], [2]string{g.Guard, g.Worktree}, "%+v", g)
			require.Equal(t, "jvs", g.Layout)
			require.NotEmpty(t, g.Why)
			require.Equal(t, root == m.Mountpoint, g.Mountpoint == m.Mountpoint, "nothing guards what is behind")
		}
	}
	require.Contains(t, m.MustCLI("layout", m.At("main/f")), "guarded by the lease of worktree main")
}

// mount says what it took; what would guard nothing is refused with what was looked for.
func TestMountSaysItsLayoutAndRefusesOneThatGuardsNothing(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	require.NoError(t, os.Mkdir(filepath.Join(m.Source, ".jvs"), 0o755))
	mount := append([]string{"mount", m.Source, m.Mountpoint, "--log-file", m.LogFile()}, m.Opts.Policy.Args()...)
	_, errs, exit := m.CLI(mount...)
	require.Equal(t, harness.ExitUsage, exit, errs)
	for _, looked := range []string{"main", "worktrees", ".jvs/repo_mode", "--layout"} {
		require.Contains(t, errs, looked)
	}
	require.NotEqual(t, "fuse.jvsfs", harness.TopType(t, m.Mountpoint))
	_, errs, exit = m.CLI(append(mount, "--layout", "svn")...)
	require.Equal(t, harness.ExitUsage, exit, errs)
	require.Contains(t, errs, "want auto, tree, jvs, jvs-folder or git")

	// Asked for by name it is guarded from the moment that it is there.
	m.Mounted, m.WasMounted = true, true
	m.MustCLI(append(mount, "--layout", "jvs", "--on-free", "deny")...)
	other := harness.StartActor(t, "other")
	other.OK(harness.Command{Op: "mkdir", Path: m.At("worktrees"), Mode: 0o755})
	other.Fails(harness.Command{Op: "mkdir", Path: m.At("main"), Mode: 0o755}, "EROFS")
	m.Unmount()

	require.NoError(t, os.Mkdir(filepath.Join(m.Source, "main"), 0o755))
	m.Mounted = true
	require.Contains(t, m.MustCLI(mount...), "layout jvs: main and each of worktrees/*")
}

// A mount that comes back keeps its layout, also while a restore has moved main away.
func TestARecoveredMountKeepsItsLayout(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true})
	m.KillDaemon()
	require.NoError(t, os.Rename(m.Behind("main"), m.Behind("main.restore-backup")))
	require.NoError(t, os.RemoveAll(m.Behind("worktrees")))
	m.Recover()
	require.NoError(t, os.Rename(m.Behind("main.restore-backup"), m.Behind("main")))
	require.Equal(t, "main", layoutOf(t, m, m.At("main/f"))[0].Worktree)
}
