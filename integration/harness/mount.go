package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// MountOptions say what to mount and how; the zero value is a plain directory
// at a mountpoint of its own, with calm times and jvsfs's own defaults.
type MountOptions struct {
	Repository bool // a JVS repository root: .jvs, main, worktrees/a, worktrees/b
	InPlace    bool
	Policy     Policy
	OnFree     string
	Extra      []string
	Prepare    func(t testing.TB, worktree string) // fills the (main) worktree
}

// Mount is one run of jvsfs mount. View is a private way to the backing tree
// that neither the mount nor looking changes.
type Mount struct {
	T          *testing.T
	Bin, Base  string
	Opts       MountOptions
	Source     string
	Mountpoint string
	LockDir    string
	View       string
	Dead       bool // the test killed the daemon
	Mounted    bool
	WasMounted bool
	openBefore map[string]string

	socketsBefore []string
}

// NewMount prepares a tree and mounts it; at the end of the test it unmounts
// and checks that nothing is left.
func NewMount(t *testing.T, o MountOptions) *Mount {
	t.Helper()
	m := PrepareMount(t, o)
	m.Mount()
	return m
}

// PrepareMount is NewMount short of the mount itself.
func PrepareMount(t *testing.T, o MountOptions) *Mount {
	t.Helper()
	if o.Policy == (Policy{}) {
		o.Policy = Calm
	}
	m := &Mount{T: t, Bin: RequireBinary(t), Base: NewBase(t), Opts: o}
	withMount.Store(topLevel(t), true)
	var err error
	m.openBefore = openFiles()
	m.socketsBefore, err = orphanSockets()
	require.NoError(t, err)
	m.checkNothingLeft()
	m.Source = filepath.Join(m.Base, "source")
	require.NoError(t, os.Mkdir(m.Source, 0o755))
	m.Mountpoint, m.LockDir = m.Source, filepath.Join(m.Base, "control")
	worktree := m.Source
	if o.Repository {
		PrepareRepository(t, m.Source)
		m.LockDir, worktree = filepath.Join(m.Source, ".jvs", "locks"), filepath.Join(m.Source, "main")
	}
	if o.Prepare != nil {
		o.Prepare(t, worktree)
	}
	if !o.InPlace {
		m.Mountpoint = filepath.Join(m.Base, "mnt")
		require.NoError(t, os.Mkdir(m.Mountpoint, 0o755))
	}
	m.View = BindView(t, m.Source, filepath.Join(m.Base, "view"), 0)
	if o.Repository {
		// In place the source's own name leads into the mount.
		m.LockDir = filepath.Join(m.View, ".jvs", "locks")
	}
	t.Cleanup(m.cleanup)
	return m
}

// PrepareRepository makes an empty JVS repository.
func PrepareRepository(t testing.TB, root string) {
	t.Helper()
	for _, dir := range []string{".jvs", "main", "worktrees", "worktrees/a", "worktrees/b"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, ".jvs", "format_version"), []byte("1\n"), 0o644))
}

// Transport is how the mounts of the stories are told to get their requests; "" says nothing to them.
func Transport() string { return os.Getenv("JVSFS_TEST_TRANSPORT") }

// OnRing reports whether the mounts of the stories get their requests by io_uring.
func OnRing() bool {
	way := Transport()
	return way == "uring" || (way == "" || way == "auto") && RingIsOn()
}

// RingIsOn reports whether the kernel has FUSE over io_uring, and the admin has switched it on.
func RingIsOn() bool {
	on, err := os.ReadFile("/sys/module/fuse/parameters/enable_uring")
	return err == nil && strings.TrimSpace(string(on)) == "Y"
}

// Mount runs jvsfs mount, which must be done when it returns.
func (m *Mount) Mount() {
	m.T.Helper()
	args := []string{"mount", m.Source}
	if !m.Opts.InPlace {
		args = append(args, m.Mountpoint)
	}
	if !m.Opts.Repository {
		args = append(args, "--control", m.LockDir)
	}
	args = append(args, m.Opts.Policy.Args()...)
	if m.Opts.OnFree != "" {
		args = append(args, "--on-free", m.Opts.OnFree)
	}
	if way := Transport(); way != "" {
		args = append(args, "--transport", way)
	}
	args = append(args, "--log-file", m.LogFile())
	m.Mounted, m.WasMounted = true, true
	m.MustCLI(append(args, m.Opts.Extra...)...)
	require.Equal(m.T, "fuse.jvsfs", TopType(m.T, m.Mountpoint), "mount has returned without a mount")
}

// At is a path within the mount.
func (m *Mount) At(rel ...string) string {
	return filepath.Join(append([]string{m.Mountpoint}, rel...)...)
}

// Behind is the same path on the backing side.
func (m *Mount) Behind(rel ...string) string {
	return filepath.Join(append([]string{m.View}, rel...)...)
}

// Digest is the backing tree without the lock directory, whose files are
// jvsfs's own and change with every renewal.
func (m *Mount) Digest() Digest {
	m.T.Helper()
	return TakeDigest(m.T, m.View, m.Skipped()...)
}

// Skipped are the paths that a digest leaves out.
func (m *Mount) Skipped() []string {
	if m.Opts.Repository {
		return []string{".jvs/locks", ".jvs/audit"}
	}
	return nil
}
